"""RunObserver: receives the progress of a run, such as for a progress bar; TimeLeft: estimates how long it still takes.

All calls come from the run's own thread.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Protocol

from photometer.execution.steps import BUILD, Step

# The first count of a server includes its start; the average of many should not.
STARTING_SECONDS = 15.0

# A step that has taken this many times as long as was thought is overdue, and said to be, if it is worth a word.
OVERDUE_FACTOR = 1.5
OVERDUE_SECONDS = 10.0
# Compiling: the headers of torch, and each snippet; see instruments/cpp/compile_units.py.
BUILD_SECONDS, SNIPPET_SECONDS = 20.0, 0.3
# The time left falls with the clock. It is corrected upwards only if it was this much too small.
CORRECTION_FACTOR, CORRECTION_SECONDS = 1.5, 20.0


@dataclasses.dataclass(frozen=True)
class NodeState:
    """A node of a cluster, and its current work: the titles of its jobs, or a word if it has none."""

    name: str
    now: tuple[str, ...] = ()
    word: str = "idle"


@dataclasses.dataclass(frozen=True)
class RunState:
    """The progress of a run: how many of its variants are finished, and how much of the work is done, from 0 to 1."""

    finished: int
    total: int
    failed_orders: int
    seconds_left: float
    now: tuple[str, ...]
    share_done: float = 0.0
    nodes: tuple[NodeState, ...] = ()
    # What has run for much longer than was expected.
    overdue: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Return `3 of 14 variants`."""
        return f"{self.finished:,} of {self.total:,} variants"


class RunObserver(Protocol):
    def progressed(self, state: RunState) -> None:
        """Show the state; called a few times per second, and after every step."""

    def measured(self, title: str, seconds: float) -> None:
        """Note that the time of an order is final."""

    def gave_up(self, title: str, reason: str) -> None:
        """Note that an order failed finally."""


class NullObserver:
    """An observer that shows nothing."""

    def progressed(self, state: RunState) -> None:
        pass

    def measured(self, title: str, seconds: float) -> None:
        pass

    def gave_up(self, title: str, reason: str) -> None:
        pass


class TimeLeft:
    """Estimates the time left.

    Quiet steps run one after another in `quiet_lanes`; the others share all cores with them. With `alone`, nothing runs
    beside them: builds come before and the rest after.
    """

    def __init__(self, cores: int, quiet_lanes: int = 1, *, alone: bool = False) -> None:
        self._cores = cores
        self._alone = alone
        self._quiet_lanes = quiet_lanes
        self._spent: defaultdict[Step, float] = defaultdict(float)
        self._finished: Counter[Step] = Counter()
        self._build_seconds = BUILD.first_guess_seconds
        self._end = math.inf
        self._shown_at = 0.0

    def expect_build(self, snippets: float) -> None:
        """Add a build of this many C++ snippets; cached ones take no time, but are not known yet."""
        self._build_seconds = BUILD_SECONDS + SNIPPET_SECONDS * snippets

    def is_overdue(self, step: Step, seconds: float) -> bool:
        expected = self.seconds_each(step)
        if step.counts and not self._finished[step]:
            expected += STARTING_SECONDS
        return seconds > max(OVERDUE_FACTOR * expected, expected + OVERDUE_SECONDS)

    def falling(self, estimate_seconds: float, now: float, *, is_overdue: bool = False) -> float:
        """Return the time left to show: it falls with the clock, and is corrected if it was far from the truth.

        While something is overdue it stands still: nobody knows when the rest can go on.
        """
        if is_overdue:
            self._end += now - self._shown_at
        self._shown_at = now
        end = now + estimate_seconds
        said = max(self._end - now, 0.0)
        if end < self._end or estimate_seconds > CORRECTION_FACTOR * said + CORRECTION_SECONDS:
            self._end = end
        return max(self._end - now, 0.0)

    def add(self, step: Step, seconds: float) -> None:
        if step.counts and not self._finished[step]:
            seconds = min(seconds, self.seconds_each(step))
        self._spent[step] += seconds
        self._finished[step] += 1

    def seconds_each(self, step: Step) -> float:
        if finished := self._finished[step]:
            return self._spent[step] / finished
        return self._build_seconds if step == BUILD else step.first_guess_seconds * self._slowness

    @property
    def _slowness(self) -> float:
        """How many times as long as was guessed what is finished took: on a busy machine the rest will, too."""
        known = [step for step in self._finished if step.is_result and self._finished[step]]
        guessed = sum(self._finished[step] * step.first_guess_seconds for step in known)
        return max(sum(self._spent[step] for step in known) / guessed, 1.0) if known else 1.0

    def estimate_seconds(self, left: Mapping[Step, int], running: Mapping[Step, float]) -> float:
        """Estimate by kind: how many steps are left (with those that run), how long the running ones have run."""
        work = {step: count * self.seconds_each(step) for step, count in left.items() if count > 0}
        for step, elapsed in running.items():
            work[step] = max(work.get(step, 0.0) - elapsed, 0.0)
        for step in work:
            if step.counts and work[step] and not self._finished[step]:
                work[step] += STARTING_SECONDS
        quiet = sum(seconds for step, seconds in work.items() if step.is_quiet or step.is_alone)
        everything = sum(work.values())
        if self._alone:
            build = work.get(BUILD, 0.0)
            return build + quiet + (everything - build - quiet) / self._cores
        return max(quiet / self._quiet_lanes, work.get(BUILD, 0.0), everything / self._cores)
