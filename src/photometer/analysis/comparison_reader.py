"""read_comparison: the comparison in a results file, of two sides or more, also as earlier versions wrote it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from photometer.analysis.cause import InstructionChange, cause_sentence
from photometer.analysis.comparison_result import (
    ComparisonFailure,
    ComparisonRemarks,
    ComparisonResult,
    ComparisonSkip,
    EnvironmentComparison,
    not_reached_on,
)
from photometer.analysis.figure_change import MetricChange
from photometer.analysis.verdict import Verdict
from photometer.errors import MeasurementError, ResultsFileError
from photometer.model.comparison_replicate import HEADER_NAME
from photometer.model.results_reader import Results

# Until version 0.3, comparisons of more than two sides had a header and records of their own.
OLD_HEADER_NAME = "matrix"


def read_comparison(results: Results) -> EnvironmentComparison | None:
    """Return the comparison in a file; None if it contains something else."""
    try:
        if isinstance(results.header.get(OLD_HEADER_NAME), Mapping):
            return _of_matrix(results)
        about = results.header.get(HEADER_NAME)
        return _of_comparison(results, about) if isinstance(about, Mapping) else None
    except MeasurementError as error:
        raise _not_matching(results) from error


def _of_comparison(results: Results, about: Mapping[str, Any]) -> EnvironmentComparison:
    names = _names(about)
    # A comparison that was resumed may have judged a benchmark twice: the later verdict counts.
    latest = {(each.order_id, each.side): each for each in results.of(ComparisonResult)}
    remarks = results.of(ComparisonRemarks)
    found = EnvironmentComparison(
        names=names,
        suite=str(about.get("suite", "")),
        results=tuple(latest.values()),
        failures=tuple(results.of(ComparisonFailure)),
        skips=tuple(results.of(ComparisonSkip)),
        warnings=remarks[-1].warnings if remarks else (),
        margin=_number(about.get("margin")),
        false_discovery_rate=_number(about.get("false_discovery_rate")),
        metrics=tuple(results.of(MetricChange)),
    )
    missing = (
        row.title + not_reached_on(names[side])
        for row in found.rows
        for side in range(1, len(names))
        if side not in row.cells and not (row.failures.keys() | row.skips.keys()) & {0, side}
    )
    return dataclasses.replace(found, not_reached=tuple(missing))


def _names(about: Mapping[str, Any]) -> tuple[str, ...]:
    names = about.get("names")
    if isinstance(names, list) and len(names) > 1:
        return tuple(map(str, names))
    sides = (about.get("base"), about.get("branch"))
    return tuple(str(side.get("spec", "")) if isinstance(side, Mapping) else "" for side in sides)


def _of_matrix(results: Results) -> EnvironmentComparison:
    header = results.header[OLD_HEADER_NAME]
    names, warnings, rows = header.get("sides"), header.get("warnings"), results.of(OldRow)
    sides = list(range(1, len(names))) if isinstance(names, list) else []
    if not sides or any([cell.side for cell in row.cells] != sides for row in rows):
        raise _not_matching(results)
    names = tuple(map(str, names))
    return EnvironmentComparison(
        names=names,
        suite=str(header.get("suite", "")),
        results=tuple(result for row in rows for result in row.results()),
        failures=tuple(failure for row in rows for failure in row.failures(names)),
        not_reached=tuple(title for row in rows for title in row.not_reached(names)),
        warnings=tuple(map(str, warnings)) if isinstance(warnings, list) else (),
        margin=_number(header.get("margin")),
        false_discovery_rate=_number(header.get("false_discovery_rate")),
        measuring_seconds=_number(header.get("measuring_seconds")),
    )


@dataclasses.dataclass(frozen=True)
class OldCell:
    """One benchmark on one side. Without `judged` it failed, with the reason in `failure`, or was not reached."""

    side: int
    judged: Verdict | None = None
    before: int = 0
    step: Verdict | None = None
    instructions: InstructionChange | None = None
    failure: str = ""


@dataclasses.dataclass(frozen=True)
class OldRow:
    """One benchmark on all sides but the reference, in their order. `failure` is that of the reference itself."""

    KIND: ClassVar[str] = "matrix_row"

    order_id: str
    title: str
    cells: tuple[OldCell, ...]
    failure: str = ""
    warnings: tuple[str, ...] = ()

    def results(self) -> Iterator[ComparisonResult]:
        for cell in self.cells:
            if cell.judged is not None:
                yield ComparisonResult(
                    self.order_id,
                    self.title,
                    cell.judged,
                    cause_sentence(cell.judged, cell.instructions),
                    cell.instructions,
                    warnings=self.warnings,
                    side=cell.side,
                    before=cell.before,
                    # The step from the reference was written, too.
                    step=cell.step if cell.before else None,
                )

    def failures(self, names: Sequence[str]) -> Iterator[ComparisonFailure]:
        for place, message in ((0, self.failure), *((cell.side, cell.failure) for cell in self.cells)):
            if message:
                yield ComparisonFailure(self.order_id, self.title, names[place], message, place=place)

    def not_reached(self, names: Sequence[str]) -> Iterator[str]:
        for cell in self.cells:
            if cell.judged is None and not cell.failure and not self.failure:
                yield self.title + not_reached_on(names[cell.side])


def _not_matching(results: Results) -> ResultsFileError:
    return ResultsFileError(
        f"{results.path}: its results do not match the sides in its header", remedy="Compare again."
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
