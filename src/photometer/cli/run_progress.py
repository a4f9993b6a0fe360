"""How a run looks while it runs: a bar on a terminal, a plain line now and then elsewhere, nothing when quiet.

All of it goes to the error channel: the output is for the table.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from photometer.execution.observer import NobodyLooks, RunObserver, RunState

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# A log that is read later wants few lines; somebody who waits wants a sign of life.
SECONDS_BETWEEN_LINES = 15.0


@contextlib.contextmanager
def progress_of(suite: str, *, quiet: bool) -> Iterator[RunObserver]:
    if quiet:
        yield NobodyLooks()
    elif not sys.stderr.isatty():
        yield PlainLines(suite)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("[red]{task.fields[failed]}"),
            TextColumn("[dim]{task.fields[now]}", markup=True),
        )
        console = Console(stderr=True)
        with Progress(*columns, console=console, transient=True, refresh_per_second=4) as progress:
            task = progress.add_task(suite, total=None, left="starting", failed="", now="")
            yield Bar(progress, task)


class Bar:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def looked_at(self, state: RunState) -> None:
        from rich.markup import escape

        self._progress.update(
            self._task,
            completed=state.finished_steps,
            total=state.all_steps,
            left=f"{words_for(state.seconds_left)} left",
            failed=f"{state.failed_orders} failed" if state.failed_orders else "",
            now=escape(state.now[-1]) if state.now else "",
        )

    def gave_up(self, title: str, reason: str) -> None:
        from rich.text import Text

        self._progress.console.print(Text(f"failed: {title}: {reason}", style="red"))


class PlainLines:
    def __init__(self, suite: str) -> None:
        self._suite = suite
        self._last = time.monotonic()

    def looked_at(self, state: RunState) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        failed = f", {state.failed_orders} failed" if state.failed_orders else ""
        done = f"{state.finished_steps} of {state.all_steps} steps{failed}"
        busy = f"; now {state.now[-1]}" if state.now else ""
        typer.echo(f"{self._suite}: {done}, about {words_for(state.seconds_left)} left{busy}", err=True)

    def gave_up(self, title: str, reason: str) -> None:
        typer.echo(f"{self._suite}: failed: {title}: {reason}", err=True)


def words_for(seconds: float) -> str:
    """`45 s`, `2 min 10 s`: no finer than it is known."""
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60 // 10 * 10:02d} s"
