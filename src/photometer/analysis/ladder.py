"""Ladder: what each way of overriding a call adds to the one below it, in time with an interval and in instructions.

In: the records of a run: steps (instruments/ladder.py) and instruction counts. Out: a Ladder, in which unknown values
are None; and how it compares with what is expected.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from photometer.instruments.ladder import LadderStep
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.order_name import order_id_of
from photometer.model.records import from_record
from photometer.model.units import format_difference, format_seconds

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


def ladder_of(records: Sequence[Mapping[str, Any]]) -> Ladder | None:
    """Return the ladder of a run's records, which are in the order of the suite; None if it has no rungs."""
    found: dict[tuple[str, str], LadderStep] = {}
    for record in records:
        if record["kind"] == LadderStep.KIND:
            step = from_record(LadderStep, record)
            found[step.call, step.rung] = step
    if not found:
        return None
    counts = {
        order_id_of(record): from_record(InstructionCounts, record).outside_allocator_per_run
        for record in records
        if record["kind"] == InstructionCounts.KIND and isinstance(record.get("order"), Mapping)
    }
    steps: list[LadderStep] = []
    for step in found.values():
        if step.below is not None and (step.call, step.below) not in found:
            steps += [ground for ground in (_ground(step, found.values()),) if ground not in steps]
        steps.append(step)
    return Ladder(tuple(_counted(step, counts) for step in steps))


def _ground(above: LadderStep, steps: Iterable[LadderStep]) -> LadderStep:
    """Return the step of a rung that was not compared with one below it: its time is known from those above it."""
    assert above.below is not None
    on_it = [step for step in steps if (step.call, step.below) == (above.call, above.below)]
    times = [step.below_seconds for step in on_it if step.below_seconds is not None]
    return LadderStep(above.call, above.below, None, seconds=median(times) if times else None, order_id=above.below_id)


def _counted(step: LadderStep, counts: Mapping[str, float]) -> LadderStep:
    """Return the step with the counts of its run, unless the record has them: early files do."""
    if step.instructions is not None or step.order_id not in counts:
        return step
    counted, below = counts[step.order_id], counts.get(step.below_id)
    return dataclasses.replace(
        step, instructions=counted, added_instructions=None if below is None else counted - below
    )


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
