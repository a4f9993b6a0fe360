"""Which benchmark of a suite deserves the next replicate.

In: how far each benchmark has come. Out: an order, most deserving first, or nothing when all is decided. Pure: the
runner asks again after each replicate, and a resumed run gets the same answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from photometer.analysis.verdict import Verdict

# Replicates everyone gets before anyone is judged hopeful or hopeless: what a gross change needs to be called.
FIRST_REPLICATES = 4
# An undecided benchmark with less than this share of the mean count goes first, whatever its prospects: a forecast from
# few replicates is often wrong, and no benchmark may starve on a wrong one.
STARVED_SHARE = 0.5


@dataclass(frozen=True)
class Progress:
    """One benchmark so far: its latest verdict (none before the first replicate), and what a replicate of it costs."""

    verdict: Verdict | None
    seconds_per_replicate: float
    log_evidence_needed: float


def order_by_need(suite: Sequence[Progress], *, seconds_left: float = math.inf) -> tuple[int, ...]:
    """Indices of the undecided benchmarks whose next replicate still fits, the one to run next first.

    First everyone's first replicates; then whoever starves; then whoever is forecast to be decided soonest. A benchmark
    that cannot be decided in the time left comes last, nearest first, for others may finish early.
    """
    open_ones = [
        index
        for index, progress in enumerate(suite)
        if not (progress.verdict is not None and progress.verdict.decided)
        and progress.seconds_per_replicate <= seconds_left
    ]
    if not open_ones:
        return ()
    counts = {index: _count(suite[index]) for index in open_ones}
    mean_count = sum(counts.values()) / len(counts)

    def rank(index: int) -> tuple[int, float, int]:
        progress, count = suite[index], counts[index]
        if count < FIRST_REPLICATES:
            return (0, float(count), index)
        if count < STARVED_SHARE * mean_count:
            return (1, float(count), index)
        seconds = seconds_to_decision(progress)
        return (2 if seconds <= seconds_left else 3, seconds, index)

    return tuple(sorted(open_ones, key=rank))


def seconds_to_decision(progress: Progress) -> float:
    """Forecast by the nearer of two roads: evidence grows in step with replicates, intervals shrink with their root."""
    verdict = progress.verdict
    if verdict is None or verdict.replicates == 0:
        return FIRST_REPLICATES * progress.seconds_per_replicate
    count = verdict.replicates
    more_for_change = math.inf
    if verdict.log_evidence > 0.0 and abs(verdict.ratio - 1.0) > verdict.margin:
        more_for_change = count * (progress.log_evidence_needed / verdict.log_evidence - 1.0)
    more_for_same = math.inf
    room = verdict.margin - abs(verdict.ratio - 1.0)
    reach = (verdict.interval[1] - verdict.interval[0]) / 2.0
    if room > 0.0 and math.isfinite(reach):
        more_for_same = count * ((reach / room) ** 2 - 1.0)
    more = min(more_for_change, more_for_same)
    return max(1.0, more) * progress.seconds_per_replicate


def _count(progress: Progress) -> int:
    return 0 if progress.verdict is None else progress.verdict.replicates
