"""How `photometer ab` looks while it runs: what is known so far, on the error channel."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from photometer.cli.printing import complain, on_screen

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from photometer.analysis.ranking import Ranking

# A log wants to show that something happens, not every replicate.
COMPARISON_LINE_SECONDS = 10.0


class AbObserver(Protocol):
    def stage(self, text: str) -> None: ...

    def aside(self) -> contextlib.AbstractContextManager[None]:
        """Return a block in which results can be printed: progress is hidden meanwhile."""

    def look(self, ranking: Ranking, spent_seconds: float) -> None: ...


@contextlib.contextmanager
def ab_progress(budget_seconds: float, *, quiet: bool) -> Iterator[AbObserver]:
    """Yield an observer for this terminal or for a log, or one that shows nothing."""
    if quiet:
        yield _Silent()
    elif not sys.stderr.isatty():
        yield AbLines(budget_seconds)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[note]}", markup=False),
        )
        # Drawn between replicates only: a thread that redraws would take time from what is measured.
        with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
            yield AbBar(bar, bar.add_task("starting", total=budget_seconds, note=""))


def known_so_far(ranking: Ranking) -> str:
    """Return the findings in one line: of two statements, the change and its interval; of many, the ranking."""
    from photometer.model.units import change, span
    from photometer.report.ranking_text import shown_name

    if len(ranking) == 2:
        verdict = ranking.pairs[0].verdict
        return f"{change(verdict.ratio)} ({span(verdict.interval)}), {verdict.words}"
    open_pairs = sum(not pair.verdict.is_final for pair in ranking.pairs)
    order = " < ".join(" ≈ ".join(shown_name(name) for name in group) for group in ranking.groups)
    return f"{order}; {open_pairs} of {len(ranking.pairs)} still open"


class _Silent:
    def stage(self, text: str) -> None:
        pass

    def aside(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def look(self, ranking: Ranking, spent_seconds: float) -> None:
        pass


class AbLines:
    """A line now and then, for a log."""

    def __init__(self, budget_seconds: float) -> None:
        self._budget_seconds = budget_seconds
        self._last = time.monotonic()

    def stage(self, text: str) -> None:
        complain(text)
        self._last = time.monotonic()

    def aside(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def look(self, ranking: Ranking, spent_seconds: float) -> None:
        if time.monotonic() - self._last >= COMPARISON_LINE_SECONDS:
            self._last = time.monotonic()
            complain(f"{spent_seconds:.0f} of at most {self._budget_seconds:.0f} s: {known_so_far(ranking)}")


class AbBar:
    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task = bar, task
        bar.refresh()

    def stage(self, text: str) -> None:
        self._bar.update(self._task, description=on_screen(text), note="")
        self._bar.refresh()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    def look(self, ranking: Ranking, spent_seconds: float) -> None:
        self._bar.update(
            self._task, description="comparing", completed=spent_seconds, note=on_screen(known_so_far(ranking))
        )
        self._bar.refresh()
