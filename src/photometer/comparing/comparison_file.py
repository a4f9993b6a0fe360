"""ComparisonFile: where the records of a comparison go: every replicate as soon as it exists, then the verdicts.

In: a header, and a path, a history store, both or none. `resume` continues an interrupted comparison of the same sides.
Every kind of comparison (environments, tests, statements, shares of a cluster) keeps its records by this one class.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photometer.analysis.comparison_result import ComparisonResult
from photometer.errors import ResultsFileError
from photometer.instruments.machine_facts import gather_machine
from photometer.model.comparison_replicate import (
    HEADER_NAME,
    ComparisonReplicate,
    header_of_side,
    record_of_side,
    sides_in,
)
from photometer.model.records import to_record
from photometer.model.results_file import ResultsFile
from photometer.model.results_folder import check_results_folder, hold_folder
from photometer.model.results_format import Recordable, make_header
from photometer.model.results_reader import load_results
from photometer.model.whole_file import not_written

if TYPE_CHECKING:
    from photometer.history.recorder import Recorder

FILE_NAME = "comparison.json"
_MUST_MATCH = ("base", "branch", "sides", "suite", "fingerprint", "seed")


@dataclasses.dataclass(frozen=True)
class Destination:
    """Where results go: to a folder, which is locked meanwhile, or to a file, which is replaced; and to a store."""

    folder: Path | None = None
    resume: bool = False
    file: Path | None = None
    store: str | None = None

    def check(self) -> None:
        """Raise ResultsFileError if the results cannot be written to the folder.

        Call it before anything is made or measured.
        """
        if self.folder is None:
            return
        check_results_folder(self.folder)
        path = self.folder / FILE_NAME
        if path.exists() and not self.resume:
            raise ResultsFileError(
                f"{path}: already exists", remedy="Continue it with --resume, or name another folder."
            )

    def open(self, header: Mapping[str, Any], stack: contextlib.ExitStack) -> ComparisonFile:
        """Open the file and the store until the stack is closed.

        `header` describes the comparison; to resume, it must be the same.
        """
        self.check()
        kept = ComparisonFile()
        if self.folder is not None:
            stack.enter_context(hold_folder(self.folder))
            kept = _in_folder(self.folder, header)
        elif self.file is not None:
            kept = ComparisonFile(ResultsFile.create(self.file, dict(header), machine=gather_machine(), overwrite=True))
        return kept if self.store is None else _recording(kept, header, self.store, stack)


@dataclasses.dataclass(frozen=True)
class ComparisonFile:
    """`file` is None if there is none. `replicates` and `results` are those of an earlier run.

    `recorders` write to a history store, by the position of the side: a store keeps comparisons of two.
    """

    file: ResultsFile | None = None
    replicates: tuple[ComparisonReplicate, ...] = ()
    results: tuple[ComparisonResult, ...] = ()
    recorders: Mapping[int, Recorder] = dataclasses.field(default_factory=dict)

    def keep(self, record: Recordable | Mapping[str, Any]) -> None:
        if self.file is not None:
            self.file.append(record)
        if not self.recorders:
            return
        plain = record if isinstance(record, Mapping) else to_record(record)
        for place, recorder in self.recorders.items():
            mine = plain if len(self.recorders) == 1 else record_of_side(plain, place)
            if mine is not None:
                recorder.add(mine)

    def keep_all(self, records: Iterable[Recordable | Mapping[str, Any]]) -> None:
        for record in records:
            self.keep(record)


def _recording(
    kept: ComparisonFile, header: Mapping[str, Any], store: str, stack: contextlib.ExitStack
) -> ComparisonFile:
    """Return the file with recorders, which also write to a history store, even if there is no file."""
    from photometer.history.recorder import open_recorder

    path, earlier = None, []
    whole: Mapping[str, Any] = make_header(gather_machine(), dict(header))
    if kept.file is not None:
        loaded = load_results(kept.file.path, recover=True)
        path, whole, earlier = kept.file.path, loaded.header, list(loaded.records)
    sides = sides_in(whole)
    recorders = {}
    for place in range(1, max(sides, 2)):
        own = header_of_side(whole, place) if sides > 2 else whole
        recorders[place] = stack.enter_context(open_recorder(store, own, file=path))
    found = dataclasses.replace(kept, recorders=recorders)
    for record in earlier:
        dataclasses.replace(found, file=None).keep(record)
    return found


def _in_folder(folder: Path, header: Mapping[str, Any]) -> ComparisonFile:
    path = folder / FILE_NAME
    if path.exists():
        return _resumed(path, header[HEADER_NAME])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(folder, error, remedy="Name another folder.") from error
    return ComparisonFile(ResultsFile.create(path, dict(header), machine=gather_machine()))


def _resumed(path: Path, description: Mapping[str, Any]) -> ComparisonFile:
    earlier = load_results(path, recover=True)
    described = earlier.header.get(HEADER_NAME)
    if not isinstance(described, Mapping):
        raise ResultsFileError(f"{path}: is not a comparison", remedy="Give the folder of the comparison to resume.")
    for name in _MUST_MATCH:
        if not _is_same(described.get(name), description.get(name)):
            raise ResultsFileError(
                f"{path}: its {name} is different: {described.get(name)}, not {description.get(name)}",
                remedy="Resume with the same sides, suite and seed, or name another folder.",
            )
    machine, here = earlier.machine, gather_machine()
    if machine is not None and machine.cpu_model != here.cpu_model:
        raise ResultsFileError(
            f"{path}: was measured on another processor ({machine.cpu_model})",
            remedy="Resume on the same machine, or name another folder.",
        )
    return ComparisonFile(
        ResultsFile(path), tuple(earlier.of(ComparisonReplicate)), tuple(earlier.of(ComparisonResult))
    )


def _is_same(before: object, now: object) -> bool:
    """Return whether a side or suite is still the same. Files of 0.1 do not describe the build of torch."""
    if isinstance(before, Mapping) and isinstance(now, Mapping) and "torch_build" not in before:
        now = {name: value for name, value in now.items() if name != "torch_build"}
    return before == now
