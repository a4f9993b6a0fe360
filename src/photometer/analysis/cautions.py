"""Cautions: which of a run's times are to be doubted, and what is said once because it concerns the machine.

In: the reasons to doubt each time, by order. Out: one sentence for the top, and marks for the rows that are worse than
the rest. Terminal, page and `show` go by this, so that they agree in number and words.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from photometer.errors import MeasurementError
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.measurement import Measurement
from photometer.stats.summary import median

# A reason that more than this share of the rows have says something about the machine, not about a row.
COMMON_SHARE = 0.05
# In a short table a few rows are a large share; this many may each be marked.
FEW_ROWS = 4
# Of the rows that share a common reason, those are marked that scatter this much more than most of them.
WORSE_THAN_THE_REST = 2.0


@dataclasses.dataclass(frozen=True)
class Doubt:
    """A reason, its kind in a word or two, and how well the time is known: half its interval by the time."""

    kind: str
    message: str
    remedy: str
    spread: float = 0.0


@dataclasses.dataclass(frozen=True)
class Cautions:
    """`machine` is for the top, empty if there is nothing to say; `marks` are the reasons of the rows to be marked."""

    machine: str = ""
    marks: Mapping[str, tuple[Doubt, ...]] = dataclasses.field(default_factory=dict)


def doubts_of(measured: Measurement | DeviceMeasurement) -> tuple[Doubt, ...]:
    """Return the reasons to doubt one time; none of one without samples, which is shown as failed."""
    try:
        spread = measured.uncertainty if isinstance(measured, Measurement) else 0.0
        return tuple(Doubt(each.kind.value, each.message, each.remedy, spread) for each in measured.warnings)
    except MeasurementError:
        return ()


def judge_cautions(doubts: Mapping[str, Sequence[Doubt]], rows: int) -> Cautions:
    """Judge the doubts of all rows together. `rows` is how many times there are, doubtful or not."""
    counted = Counter(kind for found in doubts.values() for kind in {doubt.kind for doubt in found})
    common = {kind for kind, number in counted.items() if number > max(FEW_ROWS, COMMON_SHARE * rows)}
    usual = {
        kind: median([doubt.spread for found in doubts.values() for doubt in found if doubt.kind == kind])
        for kind in common
    }
    marks = {}
    for order, found in doubts.items():
        worse = tuple(
            doubt
            for doubt in found
            if doubt.kind not in common or 0 < WORSE_THAN_THE_REST * usual[doubt.kind] <= doubt.spread
        )
        if worse:
            marks[order] = worse
    return Cautions(_machine(doubts, counted, common, rows), marks)


def _machine(doubts: Mapping[str, Sequence[Doubt]], counted: Counter[str], common: set[str], rows: int) -> str:
    if not common:
        return ""
    doubtful = sum(any(doubt.kind in common for doubt in found) for found in doubts.values())
    kinds = [kind for kind, _ in counted.most_common() if kind in common]
    counts = ", ".join(f"{kind} in {counted[kind]}" for kind in kinds)
    remedy = next(doubt.remedy for found in doubts.values() for doubt in found if doubt.kind == kinds[0])
    return f"{doubtful} of {rows} times are doubtful ({counts}). {remedy} `photometer doctor` says what disturbs them."
