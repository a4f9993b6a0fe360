"""Tabled: what a table can show of a result, whatever its kind: times and counts, each with its place in a table.

In: any result (a Measurement, a DeviceMeasurement, counts, a verdict, torch's own Measurement). Out: Measurements,
which have seconds, and CountFigures, which have instructions. `tabulate` makes tables of either.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from photometer.analysis.comparison_result import SIDE_NAMES, ComparisonResult, EnvironmentComparison
from photometer.analysis.ladder import LadderStep
from photometer.analysis.ranking import Ranking
from photometer.analysis.verdict import Verdict
from photometer.errors import DefinitionError
from photometer.model.callgrind_stats import CallgrindStats
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.diagnosis import Suspicion
from photometer.model.fuzz_trial import FuzzTrial
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.measurement import Measurement
from photometer.model.processor_counts import ProcessorCounts
from photometer.model.task import TaskSpec
from photometer.model.torch_results import adopted
from photometer.stats.summary import median

# As many digits of a count mean something: all that it has.
DIGITS_OF_A_COUNT = 12


class Tabled(Protocol):
    """What `tabulate` asks of a value in a cell."""

    @property
    def task_spec(self) -> TaskSpec: ...
    @property
    def label(self) -> str | None: ...
    @property
    def description(self) -> str | None: ...
    @property
    def env(self) -> str | None: ...
    @property
    def num_threads(self) -> int: ...
    @property
    def as_row_name(self) -> str: ...
    @property
    def median(self) -> float: ...
    @property
    def iqr(self) -> float: ...
    @property
    def interval_seconds(self) -> tuple[float, float]: ...
    @property
    def significant_figures(self) -> int: ...
    @property
    def warnings(self) -> tuple[Suspicion, ...]: ...
    @property
    def raw_times(self) -> Sequence[float]: ...


@dataclasses.dataclass(frozen=True)
class CountFigure:
    """Instructions per run of each repeat; its task's description is the column."""

    task_spec: TaskSpec
    raw_times: tuple[float, ...]

    @property
    def label(self) -> str | None:
        return self.task_spec.label

    @property
    def description(self) -> str | None:
        return self.task_spec.description

    @property
    def env(self) -> str | None:
        return self.task_spec.env

    @property
    def num_threads(self) -> int:
        return self.task_spec.num_threads

    @property
    def as_row_name(self) -> str:
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    @property
    def median(self) -> float:
        return median(self.raw_times)

    @property
    def iqr(self) -> float:
        return 0.0

    @property
    def interval_seconds(self) -> tuple[float, float]:
        """From the smallest to the largest repeat: most have but one value."""
        return min(self.raw_times), max(self.raw_times)

    @property
    def significant_figures(self) -> int:
        return DIGITS_OF_A_COUNT

    @property
    def warnings(self) -> tuple[Suspicion, ...]:
        return ()


def tabled(result: object) -> list[Measurement | CountFigure]:
    """Return what a table shows of one result; an error if it is none."""
    result = adopted(result)
    if isinstance(result, Measurement):
        return [result]
    for kind, make in _MAKERS.items():
        if isinstance(result, kind):
            return make(result)
    if hasattr(result, "KIND"):
        # A kind that has neither a time nor a count of instructions.
        return []
    raise DefinitionError(
        f"Compare takes results, not {type(result).__name__}",
        remedy="Give it what Timer.blocked_autorange() and its siblings return, or what photometer.load() does.",
    )


def _device(m: DeviceMeasurement) -> list[Measurement | CountFigure]:
    return [
        Measurement(1, mode.seconds_per_run, _column(m.task_spec, mode.name.value)) for mode in m.modes if mode.measured
    ]


def _counts(counts: InstructionCounts) -> list[Measurement | CountFigure]:
    number, loop = counts.number_per_run, counts.loop_baseline
    own = [repeat if loop is None else repeat - loop for repeat in counts.repeats]
    figures = {
        "outside the allocator": tuple(repeat.outside_allocator / number for repeat in own),
        "all instructions": tuple(repeat.total / number for repeat in own),
    }
    return [CountFigure(_column(counts.task_spec, name), values) for name, values in figures.items()]


def _callgrind(stats: CallgrindStats) -> list[Measurement | CountFigure]:
    own = stats.counts() - stats.baseline_exclusive_stats.sum()
    return [CountFigure(_column(stats.task_spec, "instructions"), (own / stats.number_per_run,))]


def _processor(counts: ProcessorCounts) -> list[Measurement | CountFigure]:
    return [CountFigure(_column(counts.task_spec, "by the processor"), (counts.instructions_per_run,))]


def _verdict(verdict: Verdict) -> list[Measurement | CountFigure]:
    first, second = _sides(verdict)
    return [_single(TaskSpec("first"), first), _single(TaskSpec("second"), second)]


def _result(result: ComparisonResult, names: Sequence[str] = SIDE_NAMES) -> list[Measurement | CountFigure]:
    base, branch = _sides(result.judged)
    # A result of a file does not have the names of more than two sides.
    name = names[result.side] if 0 < result.side < len(names) else f"side {result.side}"
    return [_single(TaskSpec(result.title, env=env), s) for env, s in ((names[0], base), (name, branch))]


def _comparison(comparison: EnvironmentComparison) -> list[Measurement | CountFigure]:
    names = comparison.names if comparison.has_many_sides else SIDE_NAMES
    return [figure for result in comparison.results for figure in _result(result, names)]


def _ranking(ranking: Ranking) -> list[Measurement | CountFigure]:
    return [_single(TaskSpec(statement.name), statement.seconds) for statement in ranking]


def _ladder(step: LadderStep) -> list[Measurement | CountFigure]:
    return [] if step.seconds is None else [_single(TaskSpec(step.rung, label=step.call), step.seconds)]


def _trial(trial: FuzzTrial) -> list[Measurement | CountFigure]:
    several = len(trial.seconds_per_run) > 1
    return [
        _single(TaskSpec(trial.text, label="fuzz", description=f"statement {i}" if several else None), seconds)
        for i, seconds in enumerate(trial.seconds_per_run, start=1)
    ]


_MAKERS: Mapping[type, Callable[[Any], list[Measurement | CountFigure]]] = {
    DeviceMeasurement: _device,
    InstructionCounts: _counts,
    CallgrindStats: _callgrind,
    ProcessorCounts: _processor,
    Verdict: _verdict,
    ComparisonResult: _result,
    EnvironmentComparison: _comparison,
    Ranking: _ranking,
    LadderStep: _ladder,
    FuzzTrial: _trial,
}


def _sides(verdict: Verdict) -> tuple[float, float]:
    return verdict.base_seconds, verdict.base_seconds + verdict.difference_seconds


def _single(spec: TaskSpec, seconds: float) -> Measurement:
    return Measurement(1, [max(seconds, 0.0)], spec)


def _column(spec: TaskSpec, name: str) -> TaskSpec:
    """Return the task with one column for each figure; a description stands before its name."""
    return dataclasses.replace(spec, description=f"{spec.description}, {name}" if spec.description else name)
