"""ComparisonFile: the results file of a comparison: every replicate as soon as it exists, then the verdicts.

`open_comparison` creates one, or resumes that of an interrupted comparison of the same two sides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photometer.analysis.comparison_result import ComparisonResult
from photometer.errors import ResultsFileError
from photometer.instruments.machine_facts import gather_machine
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.results_file import ResultsFile
from photometer.model.results_format import Recordable, make_header
from photometer.model.results_reader import load_results
from photometer.model.whole_file import not_written

if TYPE_CHECKING:
    from photometer.history.recorder import Recorder

FILE_NAME = "comparison.json"
_MUST_MATCH = ("base", "branch", "suite", "fingerprint")


@dataclasses.dataclass(frozen=True)
class ComparisonFile:
    """`file` is None if nothing is kept. `replicates` and `results` are those of an earlier run."""

    file: ResultsFile | None = None
    replicates: tuple[ComparisonReplicate, ...] = ()
    results: Mapping[str, ComparisonResult] = dataclasses.field(default_factory=dict)
    recorder: Recorder | None = None

    def keep(self, record: Recordable | Mapping[str, Any]) -> None:
        if self.file is not None:
            self.file.append(record)
        if self.recorder is not None:
            self.recorder.add(record)

    def keep_all(self, records: Iterable[Recordable | Mapping[str, Any]]) -> None:
        for record in records:
            self.keep(record)


def recording(kept: ComparisonFile, description: Mapping[str, Any], store: str) -> ComparisonFile:
    """Return the file with a recorder, which also writes to a history store, even if there is no file.

    The caller closes the recorder.
    """
    from photometer.history.recorder import open_recorder

    if kept.file is None:
        header = make_header(gather_machine(), {"comparison": dict(description)})
        return dataclasses.replace(kept, recorder=open_recorder(store, header))
    earlier = load_results(kept.file.path, recover=True)
    recorder = open_recorder(store, earlier.header, file=kept.file.path)
    recorder.add_all(earlier.records)
    return dataclasses.replace(kept, recorder=recorder)


def open_comparison(folder: Path | None, description: Mapping[str, Any], resume: bool) -> ComparisonFile:
    """Open the file in `folder`. `description` says what is compared; to resume, it must be the same.

    Call it with the folder locked (model/folder_lock.py), and keep the lock as long as records are added.
    """
    if folder is None:
        return ComparisonFile()
    path = folder / FILE_NAME
    if path.exists():
        if not resume:
            raise ResultsFileError(
                f"{path}: already exists", remedy="Continue it with --resume, or name another folder."
            )
        return _resumed(path, description)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(folder, error, remedy="Name another folder.") from error
    return ComparisonFile(ResultsFile.create(path, {"comparison": dict(description)}, machine=gather_machine()))


def _resumed(path: Path, description: Mapping[str, Any]) -> ComparisonFile:
    earlier = load_results(path, recover=True)
    described = earlier.header.get("comparison")
    if not isinstance(described, Mapping):
        raise ResultsFileError(f"{path}: is not a comparison", remedy="Give the folder of the comparison to resume.")
    for name in _MUST_MATCH:
        if not _is_same(described.get(name), description[name]):
            raise ResultsFileError(
                f"{path}: its {name} is different: {described.get(name)}, not {description[name]}",
                remedy="Resume with the same sides and suite, or name another folder.",
            )
    machine, here = earlier.machine, gather_machine()
    if machine is not None and machine.cpu_model != here.cpu_model:
        raise ResultsFileError(
            f"{path}: was measured on another processor ({machine.cpu_model})",
            remedy="Resume on the same machine, or name another folder.",
        )
    replicates = earlier.of(ComparisonReplicate)
    results = {result.order_id: result for result in earlier.of(ComparisonResult)}
    return ComparisonFile(ResultsFile(path), tuple(replicates), results)


def _is_same(before: object, now: object) -> bool:
    """Return whether a side or suite is still the same. Files of 0.1 do not describe a side's build of torch."""
    if isinstance(before, Mapping) and isinstance(now, Mapping) and "torch_build" not in before:
        now = {name: value for name, value in now.items() if name != "torch_build"}
    return before == now
