"""Progress of a comparison on the error channel: a live line where there is a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from photometer.comparing.observer import Observer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from photometer.analysis.verdict import Verdict

# A log wants to show that something happens, not every replicate.
SECONDS_BETWEEN_LINES = 10.0


@contextlib.contextmanager
def progress() -> Iterator[Observer]:
    """An observer for this terminal, or for a log."""
    if not sys.stderr.isatty():
        yield PlainProgress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield BarProgress(bar, bar.add_task("starting", total=None, note=""))


class PlainProgress(Observer):
    def __init__(self) -> None:
        self._last = 0.0

    def stage(self, text: str) -> None:
        print(f"photometer: {text}", file=sys.stderr, flush=True)
        self._last = time.monotonic()

    def replicate(self, title: str, verdict: Verdict, spent_seconds: float, budget_seconds: float) -> None:
        if time.monotonic() - self._last >= SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            print(f"photometer: {spent_seconds:.0f} of at most {budget_seconds:.0f} s", file=sys.stderr, flush=True)


class BarProgress(Observer):
    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task = bar, task

    def stage(self, text: str) -> None:
        self._bar.reset(self._task, description=text, total=None, note="")

    def step(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)

    def replicate(self, title: str, verdict: Verdict, spent_seconds: float, budget_seconds: float) -> None:
        from photometer.model.visible_text import visible

        note = f"{spent_seconds:.1f} of at most {budget_seconds:.0f} s · {visible(title)}: {verdict.verdict}"
        self._bar.update(self._task, completed=spent_seconds, total=budget_seconds, note=note)
