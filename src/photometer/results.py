"""Save and load: the interactive door to results files.

    photometer.save("before.json", measurements)
    photometer.Compare(photometer.load("before.json"))

For records of other kinds, the machine's facts or damaged files, see model/results_file.py and results_reader.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from photometer.instruments.machine_facts import gather_machine
from photometer.model.measurement import Measurement
from photometer.model.results_file import ResultsFile, load_measurements, save_measurements


def save(path: str | Path, measurements: Measurement | Iterable[Measurement], *, append: bool = False) -> None:
    """Write measurements, with the facts of this machine, in place of what is there; or add them to it."""
    several = [measurements] if isinstance(measurements, Measurement) else list(measurements)
    if not append:
        save_measurements(path, several, machine=gather_machine())
        return
    file = ResultsFile.open_or_create(path, machine=gather_machine())
    for measurement in several:
        file.append(measurement)


def load(path: str | Path, *, recover: bool = False) -> list[Measurement]:
    """Return the measurements in a results file. Nothing in it is executed; damage is an error that names the place."""
    return load_measurements(path, recover)


def record_types() -> dict[str, type]:
    """Return the type of each kind of record. A "failure" has none: whoever writes one says in it what is known."""
    from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult
    from photometer.analysis.ladder import LadderStep
    from photometer.model.comparison_replicate import ComparisonReplicate
    from photometer.model.device_measurement import DeviceMeasurement
    from photometer.model.fuzz_trial import FuzzTrial
    from photometer.model.instruction_counts import InstructionCounts
    from photometer.model.packed_stacks import ComparisonStacks

    types = (
        Measurement,
        InstructionCounts,
        DeviceMeasurement,
        ComparisonResult,
        ComparisonReplicate,
        ComparisonStacks,
        ComparisonFailure,
        FuzzTrial,
        LadderStep,
    )
    return {noun.KIND: noun for noun in types}


def results_schema() -> dict[str, Any]:
    """Return the JSON schema of results files, made from the types of their records.

    `scripts/write-schema` writes it to model/results.schema.json.
    """
    from photometer.model.machine import Machine
    from photometer.model.records import schemas_of
    from photometer.model.results_format import FORMAT, VERSION

    types = record_types()
    chosen_by_kind = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"$ref": f"#/$defs/{kind}"}} for kind in types
    ]
    kind = {"type": "string", "minLength": 1}
    record = {"type": "object", "required": ["kind"], "properties": {"kind": kind}, "allOf": chosen_by_kind}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"photometer results file, version {VERSION}",
        "description": "One JSON document with one record per line. Readers keep kinds and fields they do not know.",
        "type": "object",
        "required": ["format", "version", "records"],
        "properties": {
            "format": {"const": FORMAT},
            "version": {"const": VERSION},
            "machine": {"$ref": "#/$defs/machine"},
            "records": {"type": "array", "items": record},
        },
        "$defs": schemas_of([*types.values(), Machine]),
    }
