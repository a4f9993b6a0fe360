"""Progress on the terminal: a bar there, a plain line now and then elsewhere, nothing when quiet.

All of it goes to the error channel: the output is for the results. `ab` shows what is known so far.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from photometer.cli.cluster_option import node_lines
from photometer.cli.printing import complain, on_screen, say_aside
from photometer.comparing.source import Observer
from photometer.execution.observer import NullObserver, RunObserver, RunState
from photometer.model.visible_text import visible_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from photometer.analysis.ranking import Ranking
    from photometer.analysis.verdict import Verdict

# Somebody who waits sees the first rows as they become final; all of them are in the table at the end.
FIRST_ROWS = 5
# A log that is read later wants few lines; somebody who waits wants a sign of life.
RUN_LINE_SECONDS = 15.0
# A line that says the same again is only that.
SAME_LINE_SECONDS = 120.0


@contextlib.contextmanager
def run_progress(suite: str, *, quiet: bool) -> Iterator[RunObserver]:
    if quiet:
        yield NullObserver()
    elif not sys.stderr.isatty():
        yield RunLines(suite)
    else:
        from rich.console import Console

        with run_bar(suite, Console(stderr=True)) as bar:
            yield bar


@contextlib.contextmanager
def run_bar(suite: str, console: Console) -> Iterator[RunBar]:
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    # What runs now gets the room that is left: its name may be long, and the figures beside it must stay whole.
    rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[left]}"),
        TextColumn("[red]{task.fields[failed]}"),
        TextColumn("[dim]{task.fields[now]}", markup=True, table_column=rest),
    )
    with Progress(*columns, console=console, expand=True, transient=True, refresh_per_second=4) as progress:
        task = progress.add_task(_in_bar(suite), total=None, count="", left="starting", failed="", now="")
        yield RunBar(progress, task, suite)


class RunBar:
    def __init__(self, progress: Progress, task: TaskID, suite: str) -> None:
        self._progress = progress
        self._task = task
        self._suite = suite
        self._rows = 0

    def measured(self, title: str, seconds: float) -> None:
        from rich.text import Text

        from photometer.model.units import format_seconds

        if self._rows < FIRST_ROWS:
            self._rows += 1
            self._progress.console.print(Text(on_screen(f"{format_seconds(seconds):>9}  {visible_line(title)}")))

    def progressed(self, state: RunState) -> None:
        self._progress.update(
            self._task,
            description=_in_bar(self._suite),
            completed=state.share_done,
            total=1.0,
            count=state.words,
            left=left_words(state),
            failed=f"{state.failed_orders} failed" if state.failed_orders else "",
            now="\n".join(map(_in_bar, busy_lines(state))),
        )

    def gave_up(self, title: str, reason: str) -> None:
        from rich.text import Text

        self._progress.console.print(Text(on_screen(f"failed: {title}: {reason}"), style="red"))


class RunLines:
    def __init__(self, suite: str) -> None:
        self._suite = suite
        self._last = time.monotonic()
        self._said = ""

    def progressed(self, state: RunState) -> None:
        now = time.monotonic()
        if now - self._last < RUN_LINE_SECONDS:
            return
        failed = f", {state.failed_orders} failed" if state.failed_orders else ""
        done = f"{int(100 * state.share_done)} %, {state.words}{failed}"
        busy = "".join(f"; {line}" for line in busy_lines(state))
        line = f"{self._suite}: {done}, {left_words(state)}{busy}"
        if line != self._said or now - self._last >= SAME_LINE_SECONDS:
            self._last, self._said = now, line
            say_aside(line)

    def measured(self, title: str, seconds: float) -> None:
        # A log has the table, which says it once.
        pass

    def gave_up(self, title: str, reason: str) -> None:
        say_aside(f"{self._suite}: failed: {visible_line(title)}: {reason}")


def _in_bar(text: str) -> str:
    """Return text of a user for a column of a bar: one line, and nothing in it is markup."""
    from rich.markup import escape

    return escape(on_screen(visible_line(text)))


def left_words(state: RunState) -> str:
    """Return `about 45 s left`; while something is overdue, it takes longer than that."""
    return f"{'more than' if state.overdue else 'about'} {words_for(state.seconds_left)} left"


def busy_lines(state: RunState) -> list[str]:
    """Return what runs now, by node on a cluster; first what has run for much longer than it should."""
    slow = [f"overdue: {visible_line(title)}" for title in state.overdue[:1]]
    if state.nodes:
        return [*slow, *node_lines(state.nodes)]
    return slow or [f"now {visible_line(title)}" for title in state.now[-1:]]


def words_for(seconds: float) -> str:
    """Return `45 s` or `2 min 10 s`: no finer than the estimate."""
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60 // 10 * 10:02d} s"


@contextlib.contextmanager
def comparison_progress() -> Iterator[Observer]:
    """Return an observer for this terminal, or for a log."""
    if not sys.stderr.isatty():
        yield ComparisonLines()
        return
    with _bar_with_note() as bar:
        yield ComparisonBar(bar, bar.add_task("starting", total=None, note=""))


def _bar_with_note(*, redraws_itself: bool = True) -> Progress:
    """Return a bar between what is done and a note, neither of which is markup."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    description, note = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[note]}"))
    console = Console(stderr=True)
    return Progress(description, BarColumn(), note, console=console, transient=True, auto_refresh=redraws_itself)


@contextlib.contextmanager
def one_phase(words: str) -> Iterator[None]:
    """Show what takes a while and cannot be counted: with the seconds so far on a terminal, as a line elsewhere."""
    if not sys.stderr.isatty():
        complain(words)
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(words, total=None)
        yield


_STYLES = {
    "slower": "bold red",
    "probably slower": "red",
    "undecided": "yellow",
    "probably faster": "green",
    "faster": "green",
    "same": "dim",
    "identical": "dim",
}


def verdict_line(title: str, verdict: Verdict) -> str:
    """Return a final verdict in one line: `slower +6.4 % gate [forward]`."""
    from photometer.model.units import change

    size = f" {change(verdict.ratio)}" if verdict.verdict not in ("same", "identical", "undecided") else ""
    return f"{verdict.words}{size}  {visible_line(title)}"


class ComparisonLines(Observer):
    def __init__(self) -> None:
        self._last = 0.0

    def decided(self, title: str, verdict: Verdict) -> None:
        complain(f"  {verdict_line(title, verdict)}")
        self._last = time.monotonic()

    def stage(self, text: str) -> None:
        complain(text)
        self._last = time.monotonic()

    def replicate(self, title: str, verdict: Verdict, spent_seconds: float, budget_seconds: float) -> None:
        if time.monotonic() - self._last >= COMPARISON_LINE_SECONDS:
            self._last = time.monotonic()
            complain(f"{spent_seconds:.0f} of at most {budget_seconds:.0f} s")


class _HiddenAside:
    """A bar that is hidden while something else is printed."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task = bar, task

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()


class ComparisonBar(_HiddenAside, Observer):
    _counted = ""

    def decided(self, title: str, verdict: Verdict) -> None:
        from rich.text import Text

        self._bar.console.print(Text(on_screen(verdict_line(title, verdict)), style=_STYLES[verdict.verdict]))

    def counted(self, done: int, total: int) -> None:
        self._counted = f"{done} of {total} counted · " if done < total else ""
        self._bar.update(self._task, note=self._counted)

    def stage(self, text: str) -> None:
        self._bar.reset(self._task, description=on_screen(visible_line(text)), total=None, note="")

    def step(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)

    def replicate(self, title: str, verdict: Verdict, spent_seconds: float, budget_seconds: float) -> None:
        shown = on_screen(visible_line(title))
        spent = f"{spent_seconds:.1f} of at most {budget_seconds:.0f} s"
        note = f"{self._counted}{spent} · {shown}: {verdict.words}"
        self._bar.update(self._task, completed=spent_seconds, total=budget_seconds, note=note)


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
        # Drawn between replicates only: a thread that redraws would take time from what is measured.
        with _bar_with_note(redraws_itself=False) as bar:
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


class AbBar(_HiddenAside):
    def __init__(self, bar: Progress, task: TaskID) -> None:
        super().__init__(bar, task)
        bar.refresh()

    def stage(self, text: str) -> None:
        self._bar.update(self._task, description=on_screen(text), note="")
        self._bar.refresh()

    def look(self, ranking: Ranking, spent_seconds: float) -> None:
        self._bar.update(
            self._task, description="comparing", completed=spent_seconds, note=on_screen(known_so_far(ranking))
        )
        self._bar.refresh()
