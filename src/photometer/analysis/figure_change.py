"""FigureChange: an exact figure of an instrument on both sides of a comparison, and where in the code it changed.

Like instructions, it decides whether something changed, not what that costs. Two builds lie in memory differently: what
moves a figure by less than its tolerance is no change.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from photometer.analysis.changed_code import ChangedCode
from photometer.instruments.declaration import Instrument
from photometer.model.units import format_count


@dataclasses.dataclass(frozen=True)
class FigureChange:
    """`name` is the figure's in files, `words` what it counts: "last-level misses". Both sides are per run."""

    name: str
    words: str
    base: float
    branch: float
    has_changed: bool = False
    code: tuple[ChangedCode, ...] = ()

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


def figure_changes(instrument: Instrument, base: Any, branch: Any) -> tuple[FigureChange, ...]:
    """Return the change of every figure that both records have."""
    changes = []
    for figure in instrument.figures:
        ours, theirs = figure.of(base), figure.of(branch)
        if ours is None or theirs is None:
            continue
        tolerance = max(figure.tolerance * max(ours, theirs), figure.least)
        changes.append(
            FigureChange(figure.name, figure.head or figure.name, ours, theirs, abs(theirs - ours) > tolerance)
        )
    return tuple(changes)


def likely_cause(changes: tuple[FigureChange, ...], word: str) -> FigureChange | None:
    """Return what may have made a time change with the same instructions: of the figures declared last first."""
    wanted = {"slower": "more", "faster": "fewer"}.get(word.removeprefix("probably "))
    return next((change for change in reversed(changes) if change.verdict == wanted), None)
