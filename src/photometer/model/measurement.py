"""Measurement: the samples of one statement and everything that can be said from them.

The successor of torch.utils.benchmark.Measurement: same fields and properties, but what was measured cannot be
changed, and it knows its confidence interval and the reasons to doubt it. If its blocks were taken in several visits
(see visit.py), the figure to report is the time without disturbances, otherwise the median.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from photometer.errors import MeasurementError
from photometer.model.diagnosis import WIDE_SPREAD, Conditions, Suspicion, diagnose, diagnose_visits
from photometer.model.records import NotNegative, Positive
from photometer.model.task import TaskSpec
from photometer.model.torch_results import adopted
from photometer.model.units import format_seconds, shown_unit
from photometer.model.visible_text import visible
from photometer.stats.summary import mean, median_interval, quantile, standard_deviation
from photometer.stats.undisturbed import undisturbed, undisturbed_interval, visit_levels

if TYPE_CHECKING:
    from photometer.report.plots import Plot

MOST_SIGNIFICANT_FIGURES = 4
# Below this no clock of a usual machine resolves a difference, however many samples agree. torch says 25 ns for one
# sample; the interval of a block of n runs is n times finer, so ours is the clock's step.
SMALLEST_INTERVAL_SECONDS = 1e-10
# Those that tables have: the middle, and how slow the slowest tenth, twentieth and hundredth are at least.
PERCENTILES = (50, 90, 95, 99)
_Item = TypeVar("_Item")


class FixedList(list[_Item]):
    """A list that cannot be changed; `copy()`, `list(x)` and `x + [...]` give plain lists.

    Code written for torch.utils.benchmark uses `raw_times` as a list: adds lists to it, compares it, sorts a copy. All
    that works. A change raises an error with the remedy.
    """

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise dataclasses.FrozenInstanceError(
            "what was measured cannot be changed: change a copy, list(m.raw_times), "
            "or put measurements together with Measurement.merge"
        )

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __reduce__(self) -> tuple[type[FixedList[_Item]], tuple[list[_Item]]]:
        # Pickle and copy would otherwise append the items one by one.
        return FixedList, (list(self),)


@dataclasses.dataclass(init=False, repr=False, eq=True)
class Measurement:
    """Seconds for blocks of `number_per_run` runs each, and the measured task.

    `metadata` belongs to the user and may be assigned; everything else is fixed once made.
    """

    KIND: ClassVar[str] = "measurement"

    number_per_run: Positive
    # As in torch, but it cannot be changed (FixedList).
    raw_times: list[NotNegative]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None
    conditions: Conditions | None = None
    # The number of blocks of each visit, if they were taken in several processes: those of the first come first.
    visit_blocks: list[Positive] | None = None

    def __init__(
        self,
        number_per_run: int,
        raw_times: Sequence[float],
        task_spec: TaskSpec,
        metadata: dict[Any, Any] | None = None,
        conditions: Conditions | None = None,
        visit_blocks: Sequence[int] | None = None,
    ) -> None:
        if number_per_run < 1:
            raise MeasurementError(f"number_per_run must be at least 1, not {number_per_run}")
        if visit_blocks is not None and sum(visit_blocks) != len(raw_times):
            raise MeasurementError(f"visits of {sum(visit_blocks)} blocks in all cannot be of {len(raw_times)}")
        self.__dict__.update(
            number_per_run=int(number_per_run),
            raw_times=FixedList(raw_times),
            task_spec=task_spec,
            metadata=metadata,
            conditions=conditions,
            visit_blocks=None if visit_blocks is None else FixedList(visit_blocks),
        )

    def __setattr__(self, name: str, value: object) -> None:
        if name != "metadata":
            raise dataclasses.FrozenInstanceError(f"a Measurement is fixed: {name!r} cannot be assigned (metadata can)")
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"a Measurement is fixed: {name!r} cannot be deleted")

    @property
    def times(self) -> list[float]:
        """Seconds per run, one for each block, in the order measured."""
        return list(self._times)

    @cached_property
    def _times(self) -> tuple[float, ...]:
        number = self.number_per_run
        return tuple([t / number for t in self.raw_times])

    @cached_property
    def _ordered(self) -> tuple[float, ...]:
        if not self.raw_times:
            raise MeasurementError(
                f"the measurement of {self.task_spec.title!r} has no samples",
                remedy="Measure it again: a run that was interrupted before its first block leaves none.",
            )
        return tuple(sorted(self._times))

    @cached_property
    def median(self) -> float:
        return quantile(self._ordered, 0.5)

    @property
    def mean(self) -> float:
        """Return the mean, in seconds per run."""
        return mean(self._ordered)

    @property
    def minimum(self) -> float:
        """Return the fastest block, in seconds per run."""
        return self._ordered[0]

    @property
    def standard_deviation(self) -> float:
        """Return the standard deviation of the blocks, in seconds per run."""
        return standard_deviation(self._ordered)

    @property
    def iqr(self) -> float:
        """Return the interquartile range, in seconds per run."""
        return quantile(self._ordered, 0.75) - quantile(self._ordered, 0.25)

    def percentile(self, percent: float) -> float:
        """Return the seconds per run below which this share of the samples is, in per cent: 50, 99, 99.9.

        They are of single runs if a block is one run, otherwise of blocks of several, which scatter less than runs do:
        `percentiles_are_of` says which.
        """
        if not 0.0 <= percent <= 100.0:
            raise MeasurementError(f"{percent} is not a percentile", remedy="Give a number from 0 to 100.")
        return quantile(self._ordered, percent / 100.0)

    @property
    def percentiles_are_of(self) -> str:
        """Return what `percentile` sorts: "runs", or "blocks of 100 runs"."""
        return "runs" if self.number_per_run == 1 else f"blocks of {self.number_per_run} runs"

    @cached_property
    def visits(self) -> tuple[tuple[float, ...], ...]:
        """Seconds per run by visit; none if all blocks are of one process."""
        if not self.visit_blocks:
            return ()
        ends = list(itertools.accumulate(self.visit_blocks, initial=0))
        return tuple(self._times[start:end] for start, end in itertools.pairwise(ends))

    @cached_property
    def _levels(self) -> tuple[float, ...]:
        return tuple(visit_levels(self.visits))

    @property
    def seconds(self) -> float:
        """The figure to report, per run: undisturbed if there were several visits (stats/undisturbed.py), or median."""
        return undisturbed(self._levels) if self.visits else self.median

    @cached_property
    def interval_seconds(self) -> tuple[float, float]:
        """The 95 % confidence interval of `seconds`. It begins at the fastest block that was seen, or above."""
        return self.confidence_interval()

    def confidence_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds what a repeated measurement gives with this confidence.

        See stats/undisturbed.py, and stats/summary.py for the median. It is endless for a single sample.
        """
        fastest = self._ordered[0]
        if self.visits:
            return undisturbed_interval(self._levels, fastest, confidence)
        low, high = median_interval(self._times, confidence, seconds=math.fsum(self.raw_times))
        # A single sample says nothing in either direction.
        return max(low, fastest if len(self._times) > 1 else 0.0), high

    @property
    def uncertainty(self) -> float:
        """Half the width of the interval, by the figure: 0.01 is one per cent."""
        low, high = self.interval_seconds
        return (high - low) / 2 / self.seconds if self.seconds > 0 else 0.0

    @property
    def significant_figures(self) -> int:
        """How many digits of the figure its confidence interval supports: from one to four."""
        low, high = self.interval_seconds
        half_width = (high - low) / 2
        if not math.isfinite(half_width):
            return 1 if len(self._ordered) > 1 else MOST_SIGNIFICANT_FIGURES
        if self.seconds <= 0:
            return 1
        # As is usual for a value with its uncertainty, the last digit shown is the one the half-width begins with:
        # 1.46 ± 0.2 is 1.5, 1102 ± 3 is 1102. Cutting one digit earlier would round by more than is uncertain.
        first_uncertain = math.floor(math.log10(float(f"{max(half_width, SMALLEST_INTERVAL_SECONDS):.0e}")))
        digits = math.floor(math.log10(self.seconds)) - first_uncertain + 1
        return min(max(digits, 1), MOST_SIGNIFICANT_FIGURES)

    @cached_property
    def warnings(self) -> tuple[Suspicion, ...]:
        """The reasons to doubt this measurement, as data: each has a kind, a message and a remedy."""
        _ = self._ordered
        if self.visits:
            return diagnose_visits(
                self.seconds, self.interval_seconds, len(self.visits), self.number_per_run, self.conditions
            )
        return diagnose(self._times, self.number_per_run, self.conditions)

    @property
    def has_warnings(self) -> bool:
        """Return whether there is reason to doubt it."""
        return bool(self.warnings)

    def meets_confidence(self, threshold: float = WIDE_SPREAD) -> bool:
        """Return whether the interquartile range is below this share of the median."""
        return self.iqr / self.median < threshold if self.median > 0 else self.iqr == 0

    @property
    def stmt(self) -> str:
        """Return the statement."""
        return self.task_spec.stmt

    @property
    def setup(self) -> str:
        """Return the code that ran before."""
        return self.task_spec.setup

    @property
    def global_setup(self) -> str:
        """Return the C++ at the top of the file."""
        return self.task_spec.global_setup

    @property
    def label(self) -> str | None:
        """Return the title of the table."""
        return self.task_spec.label

    @property
    def sub_label(self) -> str | None:
        """Return the row in a table."""
        return self.task_spec.sub_label

    @property
    def description(self) -> str | None:
        """Return the column in a table."""
        return self.task_spec.description

    @property
    def num_threads(self) -> int:
        """Return the size of torch's thread pool."""
        return self.task_spec.num_threads

    @property
    def title(self) -> str:
        """Return its title."""
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        """Return the name of the environment."""
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """Return the name of the row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        return "\n".join(self._describe())

    def _describe(self) -> Iterable[str]:
        yield f"<photometer.Measurement of {len(self.raw_times)} blocks>"
        yield visible(self.task_spec.summarize())
        n = len(self.raw_times)
        if n == 0:
            yield "  no samples"
            return
        if n == 1:
            yield f"  {format_seconds(self.median)}"
        else:
            unit, scale = shown_unit(self.median)
            low, high = self.interval_seconds
            if self.visits:
                yield f"  Undisturbed: {self.seconds / scale:.2f} {unit}"
            else:
                yield f"  Median: {self.median / scale:.2f} {unit}"
            if math.isfinite(high):
                yield f"  95 % CI: {low / scale:.2f} to {high / scale:.2f} {unit}"
            if self.visits:
                yield f"  Median: {self.median / scale:.2f} {unit} (typical: with what disturbs it)"
            if n >= 4:
                low, high = quantile(self._ordered, 0.25), quantile(self._ordered, 0.75)
                yield f"  IQR:    {(high - low) / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})"
        blocks = "1 measurement" if n == 1 else f"{n} measurements"
        blocks += f" in {len(self.visits)} visits" if self.visits else ""
        runs = "1 run" if self.number_per_run == 1 else f"{self.number_per_run} runs"
        threads = "1 thread" if self.num_threads == 1 else f"{self.num_threads} threads"
        yield f"  {blocks}, {runs} per measurement, {threads}"
        for suspicion in self.warnings:
            yield f"  WARNING: {suspicion.message}"
            yield f"           {suspicion.remedy}"

    def plot(self) -> Plot:
        """Return a picture of the blocks in the order measured, for a notebook or a file."""
        from photometer.report.plots import plot_measurement

        return plot_measurement(self)

    def _repr_html_(self) -> str:
        from photometer.report.notebook import measurement_html

        return measurement_html(self)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Make one measurement of all replicates (equal task specs), as times of single runs; metadata is dropped.

        Measurements of torch.utils.benchmark may be among them.
        """
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in map(adopted, measurements):
            groups.setdefault(measurement.task_spec, []).append(measurement)
        merged = []
        for task_spec, group in groups.items():
            times = [t for measurement in group for t in measurement.times]
            conditions = _per_run(group[0]) if len(group) == 1 else None
            visited = all(measurement.visit_blocks for measurement in group)
            blocks = [count for measurement in group for count in measurement.visit_blocks or ()] if visited else None
            merged.append(Measurement(1, times, task_spec, conditions=conditions, visit_blocks=blocks))
        return merged


def _per_run(m: Measurement) -> Conditions | None:
    """Return the conditions as they hold for blocks of one run: the clock's step, too, is divided by the runs."""
    if m.conditions is None or m.conditions.clock_resolution_seconds is None:
        return m.conditions
    step = m.conditions.clock_resolution_seconds / m.number_per_run
    return dataclasses.replace(m.conditions, clock_resolution_seconds=step)
