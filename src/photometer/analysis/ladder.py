"""Ladder: what each rung of overriding costs over the rung it stands on, in time with an interval and in instructions.

In: a plan whose orders carry a tag such as `ladder:3>1` (rung 3 stands on rung 1), verdicts of each rung against the
one below it, and instruction counts. Out: a Ladder, a frozen record without layout. What is not known is None.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from statistics import median
from typing import ClassVar

from photometer.analysis.verdict import Verdict
from photometer.model.records import HighEnd, LowEnd
from photometer.plan.work_order import WorkOrder, WorkOrders

_PLACE = re.compile(r"ladder:(\d+)(?:>(\d+))?")


@dataclasses.dataclass(frozen=True)
class RungPair:
    """A rung's order and the order of the rung below; None for the ground."""

    order: WorkOrder
    below: WorkOrder | None

    @property
    def call(self) -> str:
        return " › ".join(self.order.label[:-1])

    @property
    def rung(self) -> str:
        return self.order.label[-1]


@dataclasses.dataclass(frozen=True)
class LadderStep:
    """One rung for one call. What is `added` is over `below`; the ground has none."""

    KIND: ClassVar[str] = "ladder_step"
    COMPLETE: ClassVar[bool] = True

    call: str
    rung: str
    below: str | None
    seconds: float | None = None
    added_seconds: float | None = None
    added_interval_seconds: tuple[LowEnd, HighEnd] | None = None
    instructions: float | None = None
    added_instructions: float | None = None
    order_id: str = ""


@dataclasses.dataclass(frozen=True)
class Ladder:
    """All steps, call by call, in the order of the suite."""

    steps: tuple[LadderStep, ...]

    def __iter__(self) -> Iterator[LadderStep]:
        return iter(self.steps)

    def by_call(self) -> dict[str, tuple[LadderStep, ...]]:
        calls = dict.fromkeys(step.call for step in self.steps)
        return {call: tuple(step for step in self.steps if step.call == call) for call in calls}

    def step(self, call: str, rung: str) -> LadderStep | None:
        return next((step for step in self.steps if (step.call, step.rung) == (call, rung)), None)


def rung_pairs(plan: WorkOrders) -> tuple[RungPair, ...]:
    """The plan's orders that are rungs, each with the one it stands on, if the plan has that too."""
    places = {order.id: place for order in plan if (place := _place(order)) is not None}
    rungs = [order for order in plan if order.id in places]
    at = {(order.label[:-1], places[order.id][1]): order for order in rungs}
    return tuple(RungPair(order, at.get((order.label[:-1], places[order.id][2] or ""))) for order in rungs)


def build_ladder(
    pairs: tuple[RungPair, ...], verdicts: Mapping[str, Verdict], instructions: Mapping[str, float]
) -> Ladder:
    """`verdicts` are of a rung against the one below, `instructions` per run; both by the id of the rung's order."""
    return Ladder(tuple(_step(pair, pairs, verdicts, instructions) for pair in pairs))


def _step(
    pair: RungPair, pairs: tuple[RungPair, ...], verdicts: Mapping[str, Verdict], instructions: Mapping[str, float]
) -> LadderStep:
    below = None if pair.below is None else pair.below.label[-1]
    step = LadderStep(pair.call, pair.rung, below, order_id=pair.order.id)
    counted = instructions.get(pair.order.id)
    step = dataclasses.replace(step, instructions=counted, seconds=_own_seconds(pair, pairs, verdicts))
    if pair.below is None:
        return step
    verdict, counted_below = verdicts.get(pair.order.id), instructions.get(pair.below.id)
    if verdict is not None:
        step = dataclasses.replace(
            step,
            added_seconds=verdict.difference_seconds,
            added_interval_seconds=verdict.difference_interval_seconds,
        )
    if counted is not None and counted_below is not None:
        step = dataclasses.replace(step, added_instructions=counted - counted_below)
    return step


def _own_seconds(pair: RungPair, pairs: tuple[RungPair, ...], verdicts: Mapping[str, Verdict]) -> float | None:
    """As the second side of its own comparison; the ground, which has none, as the first side of the others'."""
    own = verdicts.get(pair.order.id)
    if own is not None:
        return own.base_seconds * own.ratio
    above = [other.order.id for other in pairs if other.below is not None and other.below.id == pair.order.id]
    times = [verdicts[rung].base_seconds for rung in above if rung in verdicts]
    return median(times) if times else None


def _place(order: WorkOrder) -> re.Match[str] | None:
    return next((place for tag in order.tags if (place := _PLACE.fullmatch(tag))), None)
