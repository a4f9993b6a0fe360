"""Save and load: the interactive door to results files.

    photometer.save("before.json", measurements)
    photometer.Compare(photometer.load("before.json"))

For records of other kinds, the machine's facts or damaged files, see model/results_file.py and results_reader.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from photometer.instruments.machine_facts import gather_machine
from photometer.model.measurement import Measurement
from photometer.model.results_file import ResultsFile, load_measurements, save_measurements


def save(path: str | Path, measurements: Measurement | Iterable[Measurement], *, append: bool = False) -> None:
    """Writes measurements, with the facts of this machine, in place of what is there; or adds them to it."""
    several = [measurements] if isinstance(measurements, Measurement) else list(measurements)
    if not append:
        save_measurements(path, several, machine=gather_machine())
        return
    file = ResultsFile.open_or_create(path, machine=gather_machine())
    for measurement in several:
        file.append(measurement)


def load(path: str | Path, *, recover: bool = False) -> list[Measurement]:
    """The measurements in a results file. Nothing in it is executed; a damaged one is an error naming the place."""
    return load_measurements(path, recover)
