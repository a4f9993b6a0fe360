"""Ladder: what each way of overriding a call adds to the one below it, in time with an interval and in instructions.

In: a plan whose orders have a tag such as `ladder:3>1` (rung 3 stands on rung 1), verdicts of each rung against the one
below it, and instruction counts. Out: a Ladder, a frozen record in which unknown values are None; and how it compares
with what is expected.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from statistics import median
from typing import ClassVar

from photometer.analysis.verdict import Verdict
from photometer.model.order_name import label_text
from photometer.model.records import HighEnd, LowEnd
from photometer.model.units import format_difference, format_seconds
from photometer.plan.work_order import WorkOrder, WorkOrders

_PLACE = re.compile(r"ladder:(\d+)(?:>(\d+))?")
# The expectations are those that torch's own README of these benchmarks states, for this call.
EXPECTED_CALL = "torch.add"
# "On the order of 2 us": nearer to 2 us than to a tenth or to ten times that.
PLAIN_SECONDS = 2e-6
ORDER_OF_MAGNITUDE = 10**0.5
# Changes of 100 ns are called important, so half of that is still nothing.
NOTHING_SECONDS = 50e-9
# "Small" is less than the call itself takes, and than the couple of microseconds of a tensor-like.
SMALL_SECONDS = 1e-6
# "A couple of microseconds": one to four, a factor of two on either side of two.
COUPLE_SECONDS = (1e-6, 4e-6)


@dataclasses.dataclass(frozen=True)
class RungPair:
    """A rung's order and the order of the rung below, which is None for the lowest rung."""

    order: WorkOrder
    below: WorkOrder | None

    @property
    def call(self) -> str:
        return label_text(self.order.label[:-1])

    @property
    def rung(self) -> str:
        return self.order.label[-1]


@dataclasses.dataclass(frozen=True)
class LadderStep:
    """One rung for one call. `added_…` are over the rung `below`; the lowest rung has none."""

    KIND: ClassVar[str] = "ladder_step"

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
    """Return the plan's orders that are rungs, each with the rung below it if the plan has that too."""
    places = {order.id: place for order in plan if (place := _place(order)) is not None}
    rungs = [order for order in plan if order.id in places]
    at = {(order.label[:-1], places[order.id][1]): order for order in rungs}
    return tuple(RungPair(order, at.get((order.label[:-1], places[order.id][2] or ""))) for order in rungs)


def build_ladder(
    pairs: tuple[RungPair, ...], verdicts: Mapping[str, Verdict], instructions: Mapping[str, float]
) -> Ladder:
    """Build the ladder from verdicts against the rung below and instructions per run, both by the id of the rung."""
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
    """Return the rung's time from its own comparison; for the lowest rung, from the comparisons of those above."""
    own = verdicts.get(pair.order.id)
    if own is not None:
        return own.base_seconds * own.ratio
    above = [other.order.id for other in pairs if other.below is not None and other.below.id == pair.order.id]
    times = [verdicts[rung].base_seconds for rung in above if rung in verdicts]
    return median(times) if times else None


def _place(order: WorkOrder) -> re.Match[str] | None:
    return next((place for tag in order.tags if (place := _PLACE.fullmatch(tag))), None)


@dataclasses.dataclass(frozen=True)
class Expectation:
    """What was expected and what was found. `agrees` is None if nothing was measured or the interval is too wide."""

    expected: str
    found: str
    agrees: bool | None

    @property
    def sentence(self) -> str:
        word = {True: "as expected", False: "NOT as expected", None: "not decided"}[self.agrees]
        return f"{self.expected}: {self.found}: {word}"


def check_expectations(ladder: Ladder) -> tuple[Expectation, ...]:
    """Compare the ladder of `torch.add` with the expectations."""
    tensor, sub, like = (ladder.step(EXPECTED_CALL, rung) for rung in ("Tensor", "SubTensor", "WithTorchFunction"))
    nothing, small = (-NOTHING_SECONDS, NOTHING_SECONDS), (-SMALL_SECONDS, SMALL_SECONDS)
    return (
        _expect_plain(tensor),
        _expect_added(tensor, "__torch_function__ adds nothing for torch.Tensor", *nothing),
        _expect_added(sub, "little for a subclass of torch.Tensor", *small),
        _expect_added(like, "a couple of microseconds for a tensor-like", *COUPLE_SECONDS),
    )


def _expect_plain(step: LadderStep | None) -> Expectation:
    expected = f"{EXPECTED_CALL} of two torch.Tensor takes about {format_seconds(PLAIN_SECONDS, 1)}"
    if step is None or step.seconds is None:
        return Expectation(expected, "not measured", None)
    within = PLAIN_SECONDS / ORDER_OF_MAGNITUDE < step.seconds < PLAIN_SECONDS * ORDER_OF_MAGNITUDE
    faster = "" if within or step.seconds > PLAIN_SECONDS else " (faster)"
    return Expectation(expected, f"it takes {format_seconds(step.seconds, 3)}{faster}", within or bool(faster))


def _expect_added(step: LadderStep | None, expected: str, low: float, high: float) -> Expectation:
    if step is None or step.added_seconds is None or step.added_interval_seconds is None:
        return Expectation(expected, "not measured", None)
    ends = step.added_interval_seconds
    shown = " to ".join(format_difference(end) for end in ends)
    found = f"it adds {format_difference(step.added_seconds)} ({shown}) over {step.below}"
    if low <= ends[0] and ends[1] <= high:
        return Expectation(expected, found, True)
    return Expectation(expected, found, False if ends[0] > high or ends[1] < low else None)
