"""Diagnose a measurement: from samples, and the Conditions under which they were taken, to Suspicions.

In: times per run in the order measured, and the instrument's observations. Out: the reasons to doubt them, worst first,
each with what to do about it. Each rule is a small function.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Sequence

from photometer.model.units import format_seconds
from photometer.stats.summary import median, median_absolute_deviation, quantile

# torch's two thresholds: past a tenth the median is shaky, past a quarter the machine was measured, not the code.
WIDE_SPREAD = 0.10
VERY_WIDE_SPREAD = 0.25
# The interval of an undisturbed time is some 1 % on a quiet machine. A time that is known to 5 % only says little.
WIDE_INTERVAL = 0.05
FEWEST_VISITS = 3
# Fewer samples than this have no interquartile range worth the name.
FEWEST_SAMPLES = 5
# Rules about shape need enough points that chance alone does not trip them.
FEWEST_FOR_SHAPE = 20
# A drift smaller than this is not worth a person's attention even if it is certain.
DRIFT_WORTH_SAYING = 0.03
# How many robust standard errors apart the first and last thirds must lie.
DRIFT_CERTAINTY = 6.0
# Two modes: the gap between the halves' centres, in units of the spread inside the halves.
MODES_SEPARATION = 6.0
MODES_WORTH_SAYING = 0.05
SMALLEST_MODE_SHARE = 0.15
# A block of fewer clock ticks is suspect: the tick shows in the third digit. Blocks are chosen to have twice as many,
# because a statement may turn out faster than its warm-up was.
TICKS_PER_BLOCK = 500
# The share of wall time in which the thread did not run, from which another process is to blame.
BUSY_SHARE = 0.05
# A statement that adds less than this to an empty loop may have been optimised away or be a bare name.
NOTHING_SECONDS = 2e-9


@dataclasses.dataclass(frozen=True)
class Conditions:
    """The instrument's observations while it measured. All are optional: it fills in what it can know."""

    clock_resolution_seconds: float | None = None
    loop_overhead_seconds_per_run: float | None = None
    warmup_runs: int | None = None
    warmed_up: bool | None = None
    stopped_because: str | None = None
    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    preemptions: int | None = None
    preempted_blocks: int | None = None
    # Processes that the statement had started and left running; they were ended.
    left_processes: int | None = None


class SuspicionKind(enum.Enum):
    WIDE_SPREAD = "wide-spread"
    DRIFT = "drift"
    SEVERAL_MODES = "several-modes"
    WARMING_UP = "warming-up"
    TOO_FEW_RUNS = "too-few-runs"
    COARSE_CLOCK = "coarse-clock"
    BUSY_CORE = "busy-core"
    MAY_DO_NOTHING = "may-do-nothing"
    LEFT_PROCESSES = "left-processes"


_REMEDIES = {
    SuspicionKind.WIDE_SPREAD: "Close what else runs on the machine, or compare medians of several runs.",
    SuspicionKind.DRIFT: "Measure longer, or let the machine settle: clock or temperature may be moving.",
    SuspicionKind.SEVERAL_MODES: "Look at the histogram: a median of two modes means little. Pin the process.",
    SuspicionKind.WARMING_UP: "Measure longer (min_run_time), or run the statement in setup until it is warm.",
    SuspicionKind.TOO_FEW_RUNS: "Use blocked_autorange, or a longer min_run_time: then there is a spread to judge by.",
    SuspicionKind.COARSE_CLOCK: "Give a larger `number`, or let blocked_autorange choose it.",
    SuspicionKind.BUSY_CORE: "Stop the other work, or pin this process to a free core (taskset -c).",
    SuspicionKind.MAY_DO_NOTHING: "Check that the statement does what you mean.",
    SuspicionKind.LEFT_PROCESSES: "Wait for what the statement starts, or end it there.",
}


# Why measuring ended, if one block of a given number of runs was asked for.
ONE_BLOCK_ASKED_FOR = "one block was asked for"


@dataclasses.dataclass(frozen=True)
class Suspicion:
    """One reason to doubt a measurement. Data, not text on a terminal."""

    kind: SuspicionKind
    message: str

    @property
    def remedy(self) -> str:
        return _REMEDIES[self.kind]

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"


def diagnose(times: Sequence[float], number_per_run: int, conditions: Conditions | None) -> tuple[Suspicion, ...]:
    """Return every reason to doubt these times per run; finding none is a good sign, not a proof."""
    found = [_coarse_clock(times, number_per_run, conditions), _may_do_nothing(times, conditions)]
    found.append(_left_processes(conditions))
    if conditions is not None and conditions.stopped_because == ONE_BLOCK_ASKED_FOR:
        # Whoever calls `timeit` knows that there is one.
        pass
    elif len(times) < FEWEST_SAMPLES:
        found.append(_too_few(times))
    else:
        found += [_busy_core(conditions), _wide_spread(times)]
    if len(times) >= FEWEST_FOR_SHAPE:
        found += [_trend(times), _several_modes(times)]
    return tuple(suspicion for suspicion in found if suspicion is not None)


def diagnose_visits(
    seconds: float, interval: tuple[float, float], visits: int, number_per_run: int, conditions: Conditions | None
) -> tuple[Suspicion, ...]:
    """Return every reason to doubt the undisturbed time of several visits.

    Disturbed blocks do not matter as long as visits agree: so the interval is judged, not the blocks.
    """
    found = [
        _coarse_clock([seconds], number_per_run, conditions),
        _may_do_nothing([seconds], conditions),
        _left_processes(conditions),
        _few_visits(visits) or _wide_interval(seconds, interval, visits),
    ]
    return tuple(suspicion for suspicion in found if suspicion is not None)


def _few_visits(visits: int) -> Suspicion | None:
    if visits >= FEWEST_VISITS:
        return None
    words = "once" if visits == 1 else f"{visits} times"
    return Suspicion(SuspicionKind.TOO_FEW_RUNS, f"It was visited only {words}: too few to know what repeats.")


def _wide_interval(seconds: float, interval: tuple[float, float], visits: int) -> Suspicion | None:
    half = (interval[1] - interval[0]) / 2 / seconds if seconds > 0 else 0.0
    if half < WIDE_INTERVAL:
        return None
    return Suspicion(
        SuspicionKind.WIDE_SPREAD, f"Its {visits} visits disagree: the interval is ± {half * 100:.1f} % of the time."
    )


def _left_processes(conditions: Conditions | None) -> Suspicion | None:
    count = None if conditions is None else conditions.left_processes
    if not count:
        return None
    what = "a process" if count == 1 else f"{count} processes"
    return Suspicion(SuspicionKind.LEFT_PROCESSES, f"The statement left {what} running, which took time from it.")


def _too_few(times: Sequence[float]) -> Suspicion:
    count = "a single measurement" if len(times) == 1 else f"only {len(times)} measurements"
    return Suspicion(SuspicionKind.TOO_FEW_RUNS, f"There is {count}: too few to know the spread.")


def _wide_spread(times: Sequence[float]) -> Suspicion | None:
    ordered = sorted(times)
    middle = quantile(ordered, 0.5)
    # A clock too coarse for the statement reads zero; `_coarse_clock` says so.
    spread = (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / middle if middle > 0 else 0.0
    if spread < WIDE_SPREAD:
        return None
    cause = (
        "the machine is likely measured as much as the code" if spread >= VERY_WIDE_SPREAD else "the machine fluctuates"
    )
    return Suspicion(
        SuspicionKind.WIDE_SPREAD, f"The interquartile range is {spread * 100:.1f} % of the median: {cause}."
    )


def _trend(times: Sequence[float]) -> Suspicion | None:
    third = len(times) // 3
    first, last = times[:third], times[-third:]
    start, end = median(first), median(last)
    if start <= 0:
        return None
    change = (end - start) / start
    # 1.25 is the median's standard error over the mean's; both thirds contribute one.
    error = 1.25 * math.hypot(median_absolute_deviation(first), median_absolute_deviation(last)) / math.sqrt(third)
    if abs(change) < DRIFT_WORTH_SAYING or abs(end - start) < DRIFT_CERTAINTY * error:
        return None
    if end < start:
        return Suspicion(
            SuspicionKind.WARMING_UP,
            f"The last third runs {-change * 100:.1f} % faster than the first: still warming up.",
        )
    return Suspicion(SuspicionKind.DRIFT, f"The last third runs {change * 100:.1f} % slower than the first: it drifts.")


def _several_modes(times: Sequence[float]) -> Suspicion | None:
    """Split the ordered times where the largest relative gap lies and ask whether two clusters stand apart."""
    ordered = sorted(times)
    smallest = max(int(len(ordered) * SMALLEST_MODE_SHARE), 3)
    cuts = range(smallest, len(ordered) - smallest + 1)
    cut = max(cuts, key=lambda i: ordered[i] - ordered[i - 1])
    low, high = ordered[:cut], ordered[cut:]
    apart = median(high) - median(low)
    inside = max(median_absolute_deviation(low), median_absolute_deviation(high))
    gap = ordered[cut] - ordered[cut - 1]
    if apart <= 0:
        return None
    if apart < MODES_WORTH_SAYING * median(low) or apart < MODES_SEPARATION * inside or gap < 2 * inside:
        return None
    share = len(high) / len(ordered) * 100
    return Suspicion(
        SuspicionKind.SEVERAL_MODES,
        f"There are two modes: {format_seconds(median(low), 3)} and, in {share:.0f} % of blocks, "
        f"{format_seconds(median(high), 3)}.",
    )


def _coarse_clock(times: Sequence[float], number_per_run: int, conditions: Conditions | None) -> Suspicion | None:
    if conditions is None or conditions.clock_resolution_seconds is None:
        return None
    block = median(times) * number_per_run
    if block >= TICKS_PER_BLOCK * conditions.clock_resolution_seconds:
        return None
    tick = format_seconds(conditions.clock_resolution_seconds, 2)
    return Suspicion(
        SuspicionKind.COARSE_CLOCK, f"A block takes {format_seconds(block, 3)}, and the clock's step is {tick}."
    )


def _busy_core(conditions: Conditions | None) -> Suspicion | None:
    if (
        conditions is None
        or not conditions.wall_seconds
        or conditions.cpu_seconds is None
        or not conditions.preemptions
    ):
        return None
    waited = 1 - conditions.cpu_seconds / conditions.wall_seconds
    if waited < BUSY_SHARE:
        return None
    return Suspicion(
        SuspicionKind.BUSY_CORE,
        f"The process was kept off its core for {waited * 100:.0f} % of the time "
        f"({conditions.preemptions} preemptions): something else runs there.",
    )


def _may_do_nothing(times: Sequence[float], conditions: Conditions | None) -> Suspicion | None:
    if conditions is None or conditions.loop_overhead_seconds_per_run is None:
        return None
    added = median(times) - conditions.loop_overhead_seconds_per_run
    if added > NOTHING_SECONDS:
        return None
    return Suspicion(
        SuspicionKind.MAY_DO_NOTHING,
        f"The statement takes {format_seconds(max(added, 0.0), 2)} more than an empty loop: it may do nothing.",
    )
