"""Observer: receives a comparison's progress. This one is silent; the command's shows it."""

from __future__ import annotations

import contextlib

from photometer.analysis.verdict import Verdict


class Observer:
    def stage(self, text: str) -> None:
        """Note that a new stage begins: preparing, checking, measuring, counting."""

    def replicate(self, title: str, verdict: Verdict, spent_seconds: float, budget_seconds: float) -> None:
        """Note that one more replicate was judged."""

    def aside(self) -> contextlib.AbstractContextManager[object]:
        """Return a context in which something else may be printed."""
        return contextlib.nullcontext()

    def decided(self, title: str, verdict: Verdict) -> None:
        """Note that a verdict is final."""

    def counted(self, done: int, total: int) -> None:
        """Note how many counts are done while something else is measured; called from another thread."""

    def step(self, done: int, total: int) -> None:
        """Note how much of the current stage is done."""
