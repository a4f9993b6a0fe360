"""The change of a figure other than time between two sides, and where in the code it changed.

FigureChange: an exact figure of an instrument. Like instructions, it decides whether something changed, not what that
costs. A change that is smaller than the figure's tolerance, or than the difference between repeats of one side, does
not count, because two builds lie in memory differently. MemoryChange says whether the branch allocates more or less
than the base; there, any difference counts. MetricChange: an author's own metric or a phase of a step, which is noisy.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from photometer.analysis.changed_code import ChangedCode
from photometer.instruments.declaration import Instrument
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.units import format_bytes, format_count, percent
from photometer.stats.summary import quantile

MemoryWord = Literal["more", "less", "mixed", "equal", "unsteady"]


@dataclasses.dataclass(frozen=True)
class MemoryChange:
    """The figures that most runs of each side have, and which of them differ for certain."""

    ALWAYS: ClassVar[tuple[str, ...]] = ("verdict",)

    verdict: MemoryWord
    base: MemoryFigures
    branch: MemoryFigures
    device: str = ""

    @property
    def has_changed(self) -> bool:
        return self.verdict in ("more", "less", "mixed")

    @property
    def sentence(self) -> str:
        """`allocates 4.0 KiB more (from 8.0 KiB to 12.0 KiB), in 1 more block; its peak is 4.0 KiB higher`."""
        if self.verdict == "equal":
            return ""
        if self.verdict == "unsteady":
            return "its allocations differ from run to run"
        parts = [_allocated(self.base, self.branch), _peak(self.base, self.branch), _kept(self.base, self.branch)]
        where = f" on {self.device}" if self.device else ""
        return "; ".join(part for part in parts if part) + where


def memory_change(base: MemoryMeasurement, branch: MemoryMeasurement) -> MemoryChange:
    """Judge the memory where the statement runs: on the accelerator if it uses one."""
    device = base.device if base.device_repeats and branch.device_repeats else ""
    ours = base.device_repeats if device else base.repeats
    theirs = branch.device_repeats if device else branch.repeats
    shown = (base.on_device, branch.on_device) if device else (base.host, branch.host)
    first, second = shown
    assert first is not None
    assert second is not None
    return MemoryChange(_verdict(ours, theirs), first, second, device)


def _verdict(base: Sequence[MemoryFigures], branch: Sequence[MemoryFigures]) -> MemoryWord:
    if set(base) == set(branch):
        return "equal"
    signs = {
        sign
        for name in ("peak_bytes", "allocated_bytes", "allocations", "kept_bytes")
        if (sign := _sign([getattr(each, name) for each in base], [getattr(each, name) for each in branch]))
    }
    if not signs:
        return "unsteady"
    return "mixed" if len(signs) == 2 else "more" if signs == {1} else "less"


def _sign(base: Sequence[int], branch: Sequence[int]) -> int:
    """Return 1 if every run of the branch has more than any of the base, -1 if less, and 0 otherwise."""
    return int(min(branch) > max(base)) - int(max(branch) < min(base))


def _allocated(base: MemoryFigures, branch: MemoryFigures) -> str:
    size, blocks = branch.allocated_bytes - base.allocated_bytes, branch.allocations - base.allocations
    several = "block" if abs(blocks) == 1 else "blocks"
    in_blocks = f", in {abs(blocks):,} {'more' if blocks > 0 else 'fewer'} {several}" if blocks else ""
    if size:
        word = "more" if size > 0 else "less"
        theirs, ours = format_bytes(branch.allocated_bytes), format_bytes(base.allocated_bytes)
        if theirs == ours:
            # Rounded, they would look alike.
            theirs, ours = f"{branch.allocated_bytes:,} B", f"{base.allocated_bytes:,} B"
        both = f"from {ours} to {theirs}"
        return f"allocates {format_bytes(abs(size))} {word} ({both}){in_blocks}"
    return f"allocates as much{in_blocks}" if blocks else ""


def _peak(base: MemoryFigures, branch: MemoryFigures) -> str:
    size = branch.peak_bytes - base.peak_bytes
    return f"its peak is {format_bytes(abs(size))} {'higher' if size > 0 else 'lower'}" if size else ""


def _kept(base: MemoryFigures, branch: MemoryFigures) -> str:
    size = branch.kept_bytes - base.kept_bytes
    return f"each run keeps {format_bytes(abs(size))} {'more' if size > 0 else 'less'}" if size else ""


@dataclasses.dataclass(frozen=True)
class FigureChange:
    """`name` is the figure's in files, `words` what it counts: "last-level misses". Both sides are per run."""

    name: str
    words: str
    base: float
    branch: float
    has_changed: bool = False
    code: tuple[ChangedCode, ...] = ()
    # Whether it has a verdict of its own, and is not only a possible explanation of a change of time.
    own_verdict: bool = False

    @property
    def difference(self) -> float:
        return self.branch - self.base

    @property
    def verdict(self) -> Literal["more", "fewer", "equal"]:
        return "equal" if not self.has_changed else "more" if self.difference > 0 else "fewer"

    @property
    def sentence(self) -> str:
        """`12,500 more last-level misses (of 13,000) under gather (model.py:41)`."""
        where = f" under {self.code[0].place}" if self.code else ""
        size = format_count(abs(self.difference))
        return f"{size} {self.verdict} {self.words}, {format_count(self.branch)} in all{where}"

    @property
    def share(self) -> float:
        """Return the change as a share of the base; infinite if that is zero."""
        return self.difference / abs(self.base) if self.base else math.copysign(math.inf, self.difference)


def figure_changes(instrument: Instrument, base: Any, branch: Any) -> tuple[FigureChange, ...]:
    """Return the change of every figure that both records have."""
    changes = []
    for figure in instrument.figures:
        ours, theirs = figure.of(base), figure.of(branch)
        if ours is None or theirs is None:
            continue
        scatter = sum(high - low for low, high in (figure.bounds(base), figure.bounds(branch)))
        tolerance = max(figure.tolerance * max(ours, theirs), figure.least, scatter)
        has_changed = abs(theirs - ours) > tolerance
        words = figure.head or figure.name
        changes.append(FigureChange(figure.name, words, ours, theirs, has_changed, own_verdict=figure.own_verdict))
    return tuple(changes)


def changed_by_themselves(changes: tuple[FigureChange, ...]) -> tuple[FigureChange, ...]:
    """Return the changes with verdicts of their own."""
    return tuple(each for each in changes if each.own_verdict and each.has_changed)


def likely_cause(changes: tuple[FigureChange, ...], word: str) -> FigureChange | None:
    """Return the likely cause of a changed time with the same instructions: the last declared figure that changed."""
    wanted = {"slower": "more", "faster": "fewer"}.get(word.removeprefix("probably "))
    return next((each for each in reversed(changes) if each.verdict == wanted and not each.own_verdict), None)


MetricWord = Literal["identical", "same", "higher", "lower", "mixed"]
# Sums in another order differ by some 1e-7 of float32; a few steps of training make some times that of it.
ROUNDING = 1e-5


@dataclasses.dataclass(frozen=True)
class MetricChange:
    """The values of both sides, one per run."""

    KIND: ClassVar[str] = "comparison_metric"

    order_id: str
    title: str
    name: str
    verdict: MetricWord
    base: tuple[float, ...]
    branch: tuple[float, ...]
    # The position of the side that is compared with the reference.
    side: int = 1

    @property
    def medians(self) -> tuple[float, float]:
        return quantile(sorted(self.base), 0.5), quantile(sorted(self.branch), 0.5)

    @property
    def sentence(self) -> str:
        """Return `loss of MLP: higher by 1.2 % in every run, 0.693 on the base and 0.701 on the branch`."""
        base, branch = self.medians
        values = f"{base:.5g} on the base and {branch:.5g} on the branch"
        head = f"{self.name} of {self.title}"
        if self.verdict in ("higher", "lower"):
            by = f" by {percent(abs(branch / base - 1.0))}" if base else ""
            return f"{head}: {self.verdict}{by} in every run, {values}"
        if self.verdict == "mixed":
            return f"{head}: differs, in some runs up and in others down; {values}"
        return f"{head}: {self.verdict}, {base:.5g}"


def judge_metric(
    order_id: str, title: str, name: str, base: Sequence[float], branch: Sequence[float], side: int = 1
) -> MetricChange:
    """Return the change; the runs are paired in the order in which they were done."""
    signs = {_sign_of_change(ours, theirs) for ours, theirs in zip(base, branch, strict=True)}
    word: MetricWord
    if tuple(base) == tuple(branch):
        word = "identical"
    elif signs <= {0}:
        word = "same"
    elif signs <= {0, 1}:
        word = "higher"
    else:
        word = "lower" if signs <= {0, -1} else "mixed"
    return MetricChange(order_id, title, name, word, tuple(base), tuple(branch), side)


def _sign_of_change(base: float, branch: float) -> int:
    if abs(branch - base) <= ROUNDING * max(abs(base), abs(branch)):
        return 0
    return 1 if branch > base else -1
