"""Observer: hears of a comparison's progress. This one is silent; the command has one that shows it."""

from __future__ import annotations

from photometer.analysis.verdict import Verdict


class Observer:
    def stage(self, text: str) -> None:
        """A new stage begins: preparing, checking, measuring, counting."""

    def replicate(self, title: str, verdict: Verdict, spent_seconds: float, budget_seconds: float) -> None:
        """One more replicate was judged."""

    def step(self, done: int, total: int) -> None:
        """So much of the present stage is done."""
