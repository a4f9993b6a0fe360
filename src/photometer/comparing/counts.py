"""Instructions of all sides of a comparison: exact, so they show whether anything changed before time is measured.

In: started sides and orders ready to run on them. Out: the counts of each order on each side, and which are identical.
The sides are counted at the same time, on a busy machine, too: nothing is timed.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from photometer.analysis.cause import InstructionChange, are_identical, instruction_change
from photometer.analysis.changed_code import ChangedCode
from photometer.comparing.kept_counts import KeptCounts, SideCount, prune
from photometer.comparing.source import CheckedPlan, Contest, StartedSide
from photometer.errors import PhotometerError, ToolMissing, WorkerError, WorkerStartError
from photometer.instruments.callgrind.count_order import count_task_of
from photometer.instruments.callgrind.counter import SHOWS_FRAMES, InstructionCounter, count_in_time, counter_of
from photometer.instruments.callgrind.figures import exclusive_counts
from photometer.instruments.callgrind.python_frames import fitted_stacks
from photometer.instruments.ready_order import ReadyOrder, task_spec_of
from photometer.model.packed_stacks import SMALLEST_SHARE, pack_stacks
from photometer.plan.work_order import WorkOrder
from photometer.session.layout import Layout

SideOutcome = SideCount | PhotometerError
OnCount = Callable[[str, int, SideOutcome], object]
"""The order's id, the position of the side, and its outcome."""


@dataclasses.dataclass(frozen=True)
class CountedSuite:
    """The counts by order id and position of the side, in the frozen layout; `warnings` say what was not counted."""

    counts: Mapping[tuple[str, int], SideCount] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def pair(self, order_id: str, contest: Contest) -> tuple[SideCount, SideCount] | None:
        """Return the counts of both sides; None if one of them was not counted."""
        first, other = (self.counts.get((order_id, place)) for place in (contest.first, contest.other))
        return None if first is None or other is None else (first, other)

    def is_identical(self, order: WorkOrder, contest: Contest) -> bool:
        """Return whether both sides execute the same instructions; False with several threads (it is not known)."""
        pair = self.pair(order.id, contest)
        if pair is None or order.processors > 1:
            return False
        first, other = pair
        return are_identical(first.counts, other.counts, first.functions, other.functions)

    def ratio(self, order_id: str, contest: Contest) -> float | None:
        """Return the second side's instructions over the first's, outside the allocator."""
        pair = self.pair(order_id, contest)
        if pair is None:
            return None
        first, other = (side.counts.outside_allocator_per_run for side in pair)
        return other / max(first, 1.0)

    def against_reference(self) -> Iterator[tuple[str, int]]:
        """Yield the orders and sides that were counted together with the reference."""
        for order_id, place in self.counts:
            if place and (order_id, 0) in self.counts:
                yield order_id, place

    def change(
        self,
        order_id: str,
        place: int,
        layouts: Sequence[CountedSuite] = (),
        code: tuple[ChangedCode, ...] = (),
    ) -> InstructionChange:
        """Return the change of a side against the reference; `layouts` are counts in other layouts."""
        contest = Contest(0, place)
        pairs = [pair for each in (self, *layouts) if (pair := each.pair(order_id, contest)) is not None]
        first, other = pairs[0]
        return instruction_change(
            [ours.counts for ours, _ in pairs],
            [theirs.counts for _, theirs in pairs],
            first.functions,
            other.functions,
            code,
        )


class CountsUnderWay:
    """Counts of all sides, taken in a thread while something else is measured. Use as a context manager.

    `take` returns what was counted since the last call; `wait` waits for more.
    """

    def __init__(
        self,
        sides: Sequence[StartedSide],
        checked: CheckedPlan,
        on_step: Callable[[int, int], object] = lambda done, total: None,
    ) -> None:
        self._sides, self._checked, self._on_step = sides, checked, on_step
        self._wanted = countable(checked)
        self._changed = threading.Condition()
        self._found: dict[tuple[str, int], SideOutcome] = {}
        self._total = sum(len(checked.places(order_id)) for order_id in self._wanted)
        self._new: list[str] = []
        self._error: PhotometerError | None = None
        self._crash: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._left_early = False

    def __enter__(self) -> CountsUnderWay:
        if self._wanted:
            self._thread = threading.Thread(target=self._count, name="counts of all sides", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None and self._thread.is_alive():
            # The limit is reached, or the user interrupted.
            self._left_early = True
            for side in self._sides:
                side.session.kill()
        if self._thread is not None:
            self._thread.join()

    def take(self) -> list[str]:
        """Return the orders that were counted on a side since the last call."""
        with self._changed:
            new, self._new = self._new, []
            if self._crash is not None:
                raise self._crash
            return list(dict.fromkeys(new))

    def wait(self, seconds: float) -> bool:
        """Wait until there is something to take, at most `seconds`. Return whether any count can still come."""
        with self._changed:
            if not self._new and not self.is_finished:
                self._changed.wait(seconds)
            return bool(self._new) or not self.is_finished

    @property
    def is_finished(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    def is_pending(self, order_id: str, contest: Contest) -> bool:
        """Return whether both sides of a contest may still turn out to be counted, or were since the last `take`."""
        with self._changed:
            if order_id in self._new:
                return True
        if self.is_finished or order_id not in self._wanted:
            return False
        found = [self._found.get((order_id, place)) for place in (contest.first, contest.other)]
        return any(each is None for each in found) and not any(isinstance(each, PhotometerError) for each in found)

    def so_far(self) -> CountedSuite:
        """Return what has been counted, with warnings about what has not."""
        with self._changed:
            counted = {key: each for key, each in self._found.items() if isinstance(each, SideCount)}
        if self._error is not None and not self._left_early:
            return CountedSuite(counted, (f"instructions were not counted: {self._error.message}",))
        missing = sum(
            any((order_id, place) not in counted for place in self._checked.places(order_id))
            for order_id in self._wanted
        )
        if not missing:
            return CountedSuite(counted)
        why = "were not counted: measuring ended first" if self._left_early else "could not be counted"
        return CountedSuite(counted, (f"instructions of {missing} benchmark{'s' * (missing != 1)} {why}",))

    def _count(self) -> None:
        try:
            count_sides(self._sides, self._checked, self._wanted, on_count=self._note)
        except (ToolMissing, WorkerError) as error:
            self._error = error
        except BaseException as crash:
            self._crash = crash
        finally:
            with self._changed:
                self._changed.notify_all()

    def _note(self, order_id: str, place: int, outcome: SideOutcome) -> None:
        with self._changed:
            self._found[order_id, place] = outcome
            if isinstance(outcome, SideCount):
                self._new.append(order_id)
            self._changed.notify_all()
        self._on_step(len(self._found), self._total)


def countable(checked: CheckedPlan) -> list[str]:
    """Return the ids of the orders whose instructions are to be counted."""
    return [order.id for order in checked.orders if order.counts_instructions and not order.auto.on_device]


def count_sides(
    sides: Sequence[StartedSide],
    checked: CheckedPlan,
    order_ids: Sequence[str],
    *,
    layout: Layout | None = None,
    python_frames: bool = True,
    on_count: OnCount = lambda *_: None,
) -> CountedSuite:
    """Count orders on every side where they run, as many sides at a time as there are cores.

    Counting is exact even on a busy machine, but a server under Valgrind takes a gigabyte. Kept counts of a revision,
    or of locked packages, are not taken again. `on_count` is called from the sides' own threads. Raise if an
    environment does not start.
    """
    at_once = os.cpu_count() or 1
    found: dict[tuple[str, int], SideOutcome] = {}

    def note(order_id: str, place: int, outcome: SideOutcome) -> None:
        found[order_id, place] = outcome
        on_count(order_id, place, outcome)

    for first in range(0, len(sides), at_once):
        places = range(first, min(first + at_once, len(sides)))
        _count_some(places, sides, checked, order_ids, layout, python_frames, note)
        if len(sides) > at_once:
            for place in places:
                sides[place].session.drop(SHOWS_FRAMES)
    return CountedSuite({key: outcome for key, outcome in found.items() if isinstance(outcome, SideCount)})


def _count_some(
    places: Sequence[int],
    sides: Sequence[StartedSide],
    checked: CheckedPlan,
    order_ids: Sequence[str],
    layout: Layout | None,
    python_frames: bool,
    on_count: OnCount,
) -> None:
    is_frozen_layout = layout in (None, Layout())

    def count_side(place: int) -> None:
        kept = KeptCounts.of(sides[place].resolved) if is_frozen_layout else KeptCounts(None)
        session = sides[place].session
        # Servers of the frozen layout stay: they count what changed once more, with Python's functions.
        counter = (
            counter_of(session, python_frames=python_frames)
            if is_frozen_layout
            else InstructionCounter(session, layout=layout)
        )
        try:
            for order_id in order_ids:
                if place in checked.ready[order_id]:
                    ready = checked.ready[order_id][place]
                    seconds = checked.seconds_per_run.get(order_id)
                    on_count(order_id, place, count_ready(counter, ready, kept, seconds))
        finally:
            if not is_frozen_layout:
                counter.close()
            if kept.is_kept:
                prune()

    threads = ThreadPoolExecutor(max(len(places), 1))
    try:
        list(threads.map(count_side, places))
    except ToolMissing:
        # Without Valgrind nothing was started, and the same sessions are used for timing.
        raise
    except BaseException:
        for place in places:
            sides[place].session.kill()
        raise
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def count_ready(
    counter: InstructionCounter, ready: ReadyOrder, kept: KeptCounts, seconds_per_run: float | None = None
) -> SideOutcome:
    """Return the count of an order, or its error. Raise if nothing can be counted at all."""
    task, *_ = count_task_of(ready).fitting(seconds_per_run)
    found = kept.find(ready, task)
    if found is not None:
        return found
    try:
        counted = count_in_time(counter, task, seconds_per_run=seconds_per_run)
    except (ToolMissing, WorkerStartError):
        raise
    except PhotometerError as error:
        return error
    counts = dataclasses.replace(counted.instruction_counts(), task_spec=task_spec_of(ready.order))
    stacks = pack_stacks(fitted_stacks(counted.stacks(smallest_share=SMALLEST_SHARE), counts))
    count = SideCount(counts, exclusive_counts(counted.profiles[counts.stable_repeat]), stacks)
    kept.keep(ready, task, count)
    return count
