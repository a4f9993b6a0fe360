"""Instructions of both sides of a comparison: exact, so they show whether anything changed before time is measured.

In: two sessions and orders ready to run. Out: both sides' counts with their functions, and which orders are identical.
The sides are counted at the same time, on a busy machine, too: nothing is timed.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from photometer.analysis.cause import are_identical
from photometer.comparing.kept_counts import KeptCounts, SideCount, prune
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSides
from photometer.errors import PhotometerError, ToolMissing, WorkerError, WorkerStartError
from photometer.execution.executor import ReadyOrder
from photometer.execution.measure_order import count_task_of
from photometer.execution.order_record import task_spec_of
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.figures import exclusive_counts
from photometer.instruments.callgrind.fitted_stacks import fitted_stacks
from photometer.model.packed_stacks import SMALLEST_SHARE, pack_stacks
from photometer.plan.work_order import WorkOrder
from photometer.session.layout import Layout
from photometer.session.session import Session

SideOutcome = SideCount | PhotometerError
OnCount = Callable[[int, int, SideOutcome], object]
"""Position of the session, position of the order, and its outcome."""


@dataclasses.dataclass(frozen=True)
class CountedSuite:
    """Both sides' counts by order id, in the frozen layout; `warnings` say what could not be counted."""

    sides: Mapping[str, tuple[SideCount, SideCount]] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def is_identical(self, order: WorkOrder) -> bool:
        """Return whether both sides execute the same instructions; False with several threads (it is not known)."""
        counted = self.sides.get(order.id)
        if counted is None or order.args.num_threads > 1:
            return False
        base, branch = counted
        return are_identical(base.counts, branch.counts, base.functions, branch.functions)

    def ratio(self, order_id: str) -> float:
        """Return the branch's instructions over the base's, outside the allocator."""
        base, branch = self.sides[order_id]
        return branch.counts.outside_allocator_per_run / max(base.counts.outside_allocator_per_run, 1.0)


class CountsUnderWay:
    """Counts of both sides, taken in a thread while something else is measured. Use as a context manager.

    `take` returns what was counted since the last call; `wait` waits for more.
    """

    def __init__(
        self,
        sides: StartedSides,
        checked: CheckedPlan,
        kept: Sequence[KeptCounts],
        on_step: Callable[[int, int], object] = lambda done, total: None,
    ) -> None:
        self._sides, self._checked, self._kept, self._on_step = sides, checked, kept, on_step
        self._wanted = [order.id for order in checked.orders if order.counts_instructions and not order.auto.on_device]
        self._changed = threading.Condition()
        self._found: dict[str, list[SideOutcome | None]] = {order_id: [None, None] for order_id in self._wanted}
        self._new: list[str] = []
        self._done = 0
        self._error: PhotometerError | None = None
        self._crash: BaseException | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> CountsUnderWay:
        if self._wanted:
            self._thread = threading.Thread(target=self._count, name="counts of both sides", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None and self._thread.is_alive():
            # Left early: the limit is reached, or the user interrupted.
            for side in self._sides:
                side.session.kill()
        if self._thread is not None:
            self._thread.join()

    def take(self) -> list[str]:
        """Return the orders that were counted on both sides since the last call."""
        with self._changed:
            new, self._new = self._new, []
            if self._crash is not None:
                raise self._crash
            return new

    def wait(self, seconds: float) -> bool:
        """Wait until there is something to take, at most `seconds`. Return whether anything can still come."""
        with self._changed:
            if not self._new and not self.is_finished:
                self._changed.wait(seconds)
            return bool(self._new) or not self.is_finished

    @property
    def is_finished(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    def is_pending(self, order_id: str) -> bool:
        """Return whether the order may still be counted."""
        if self.is_finished or order_id not in self._found:
            return False
        return any(outcome is None for outcome in self._found[order_id])

    def so_far(self) -> CountedSuite:
        """Return what has been counted, with warnings about what has not."""
        with self._changed:
            counted = {
                order_id: (base, branch)
                for order_id, (base, branch) in self._found.items()
                if isinstance(base, SideCount) and isinstance(branch, SideCount)
            }
        if self._error is not None:
            return CountedSuite(counted, (f"instructions were not counted: {self._error.message}",))
        missing = len(self._wanted) - len(counted)
        return CountedSuite(counted, (f"instructions of {missing} benchmarks could not be counted",) if missing else ())

    def _count(self) -> None:
        orders = [[prepared.ready[order_id] for order_id in self._wanted] for prepared in self._checked.prepared]
        try:
            count_sides([side.session for side in self._sides], orders, kept=self._kept, on_count=self._note)
            if any(kept.is_kept for kept in self._kept):
                prune()
        except (ToolMissing, WorkerError) as error:
            self._error = error
        except BaseException as crash:
            self._crash = crash
        finally:
            with self._changed:
                self._changed.notify_all()

    def _note(self, side: int, place: int, outcome: SideOutcome) -> None:
        order_id = self._wanted[place]
        with self._changed:
            self._found[order_id][side] = outcome
            self._done += 1
            if all(isinstance(each, SideCount) for each in self._found[order_id]):
                self._new.append(order_id)
            self._changed.notify_all()
        self._on_step(self._done, 2 * len(self._wanted))


def count_both(
    sides: StartedSides, checked: CheckedPlan, order_ids: Sequence[str], layout: Layout, observer: Observer
) -> dict[str, tuple[SideCount, SideCount]]:
    done = 0

    def on_count(*_: object) -> None:
        nonlocal done
        done += 1
        observer.step(done, 2 * len(order_ids))

    orders = [[prepared.ready[order_id] for order_id in order_ids] for prepared in checked.prepared]
    base, branch = count_sides([side.session for side in sides], orders, layout=layout, on_count=on_count)
    return {
        order_id: (ours, theirs)
        for order_id, ours, theirs in zip(order_ids, base, branch, strict=True)
        if not isinstance(ours, PhotometerError) and not isinstance(theirs, PhotometerError)
    }


def count_sides(
    sessions: Sequence[Session],
    orders: Sequence[Sequence[ReadyOrder]],
    *,
    layout: Layout | None = None,
    kept: Sequence[KeptCounts] = (),
    on_count: OnCount = lambda side, place, outcome: None,
) -> list[list[SideOutcome]]:
    """Count each session's orders, all sessions at the same time: counting is exact even on a busy machine.

    Counts that are already `kept` are not taken again. `on_count` is called from the sessions' own threads.

    Return, for each session, the outcomes of its orders. Raise if an environment does not start.
    """

    def count_side(side: int, session: Session, ready: Sequence[ReadyOrder]) -> list[SideOutcome]:
        # Servers of the frozen layout stay: they count what changed once more, with Python's functions.
        is_frozen_layout = layout in (None, Layout())
        counter = InstructionCounter(session, layout=layout, python_frames=is_frozen_layout)
        try:
            outcomes = []
            for place, each in enumerate(ready):
                outcomes.append(_count(counter, each, kept[side] if kept else KeptCounts(None)))
                on_count(side, place, outcomes[-1])
            return outcomes
        finally:
            if not is_frozen_layout:
                counter.close()

    threads = ThreadPoolExecutor(len(sessions))
    try:
        return list(threads.map(count_side, range(len(sessions)), sessions, orders))
    except ToolMissing:
        # Without Valgrind nothing was started, and the same sessions are used for timing.
        raise
    except BaseException:
        for session in sessions:
            session.kill()
        raise
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _count(counter: InstructionCounter, ready: ReadyOrder, kept: KeptCounts) -> SideOutcome:
    task = count_task_of(ready)
    found = kept.find(ready, task)
    if found is not None:
        return found
    try:
        counted = counter.count(task)
    except (ToolMissing, WorkerStartError):
        raise
    except PhotometerError as error:
        return error
    counts = dataclasses.replace(counted.instruction_counts(), task_spec=task_spec_of(ready.order))
    stacks = pack_stacks(fitted_stacks(counted.stacks(smallest_share=SMALLEST_SHARE), counts))
    count = SideCount(counts, exclusive_counts(counted.profiles[counts.stable_repeat]), stacks)
    kept.keep(ready, task, count)
    return count
