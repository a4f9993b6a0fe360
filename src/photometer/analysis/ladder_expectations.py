"""What the ladder of `torch.add` is expected to look like, checked and said in words.

The expectations are those that torch's own README of these benchmarks states. In: a Ladder. Out: one Expectation each,
with what was expected, what was found, and whether the two agree; None where it was not measured.
"""

from __future__ import annotations

import dataclasses

from photometer.analysis.ladder import Ladder, LadderStep
from photometer.model.units import format_seconds

CALL = "torch.add"
# "On the order of 2 us": nearer to 2 us than to a tenth or to ten times of it.
PLAIN_SECONDS = 2e-6
ORDER_OF_MAGNITUDE = 10**0.5
# Changes of 100 ns are called important, so half of that is still nothing.
NOTHING_SECONDS = 50e-9
# "Small" is less than the call itself takes, and than the couple of microseconds of a tensor-like.
SMALL_SECONDS = 1e-6
# "A couple of microseconds": one to four, a factor of two on either side of two.
COUPLE_SECONDS = (1e-6, 4e-6)


@dataclasses.dataclass(frozen=True)
class Expectation:
    """`agrees` is None where nothing was measured, or where the interval reaches over the limit."""

    expected: str
    found: str
    agrees: bool | None

    @property
    def sentence(self) -> str:
        word = {True: "as expected", False: "NOT as expected", None: "not decided"}[self.agrees]
        return f"{self.expected}: {self.found}: {word}"


def check_expectations(ladder: Ladder) -> tuple[Expectation, ...]:
    return (
        _plain(ladder.step(CALL, "Tensor")),
        _added(
            ladder.step(CALL, "Tensor"), "__torch_function__ adds nothing for torch.Tensor", -NOTHING_SECONDS,
            NOTHING_SECONDS,
        ),
        _added(ladder.step(CALL, "SubTensor"), "little for a subclass of torch.Tensor", -SMALL_SECONDS, SMALL_SECONDS),
        _added(ladder.step(CALL, "WithTorchFunction"), "a couple of microseconds for a tensor-like", *COUPLE_SECONDS),
    )  # fmt: skip


def _plain(step: LadderStep | None) -> Expectation:
    expected = f"{CALL} of two torch.Tensor takes about {format_seconds(PLAIN_SECONDS, 1)}"
    if step is None or step.seconds is None:
        return Expectation(expected, "not measured", None)
    within = PLAIN_SECONDS / ORDER_OF_MAGNITUDE < step.seconds < PLAIN_SECONDS * ORDER_OF_MAGNITUDE
    faster = "" if within or step.seconds > PLAIN_SECONDS else " (faster)"
    return Expectation(expected, f"it takes {format_seconds(step.seconds, 3)}{faster}", within or bool(faster))


def _added(step: LadderStep | None, expected: str, low: float, high: float) -> Expectation:
    if step is None or step.added_seconds is None or step.added_interval_seconds is None:
        return Expectation(expected, "not measured", None)
    ends = step.added_interval_seconds
    shown = " to ".join(signed_seconds(end) for end in ends)
    found = f"it adds {signed_seconds(step.added_seconds)} ({shown}) over {step.below}"
    if low <= ends[0] and ends[1] <= high:
        return Expectation(expected, found, True)
    return Expectation(expected, found, False if ends[0] > high or ends[1] < low else None)


def signed_seconds(seconds: float) -> str:
    """`+1.24 us`, `-3 ns`: a plus sign says that it is added, and no more digits than a nanosecond's tenth."""
    sign = "-" if seconds < 0 else "+"
    size = abs(seconds)
    if size == float("inf"):
        return f"{sign}anything"
    if size < 1e-7:
        return f"{sign}{size * 1e9:.1f} ns" if size < 1e-8 else f"{sign}{size * 1e9:.0f} ns"
    return sign + format_seconds(size, 3)
