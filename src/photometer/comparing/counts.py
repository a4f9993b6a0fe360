"""Instructions of both sides of a comparison: exact, so they decide whether anything changed before time is measured.

In: two sessions and orders ready to run. Out: both sides' counts with their functions, and which orders are identical.
The sides are counted at the same time, and whatever else the machine does: nothing is timed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from photometer.analysis.cause import are_identical
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSides
from photometer.errors import PhotometerError, ToolMissing, WorkerError, WorkerStartError
from photometer.execution.executor import ReadyOrder
from photometer.execution.measure_order import count_task_of
from photometer.execution.order_record import task_spec_of
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.figures import exclusive_counts
from photometer.instruments.callgrind.fitted_stacks import fitted_stacks
from photometer.model.function_counts import FunctionCounts
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.packed_stacks import SMALLEST_SHARE, pack_stacks
from photometer.plan.work_order import WorkOrder
from photometer.session.layout import Layout
from photometer.session.session import Session


@dataclasses.dataclass(frozen=True)
class SideCount:
    """One order on one side under one layout."""

    counts: InstructionCounts
    functions: FunctionCounts
    # As pack_stacks leaves them: the whole tree of a large model is many megabytes.
    packed_stacks: Mapping[str, Any] = dataclasses.field(default_factory=dict)


SideOutcome = SideCount | PhotometerError


@dataclasses.dataclass(frozen=True)
class CountedSuite:
    """Both sides' counts by order id, in the frozen layout; `warnings` say what could not be counted."""

    sides: Mapping[str, tuple[SideCount, SideCount]] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def is_identical(self, order: WorkOrder) -> bool:
        """Whether both sides execute the same instructions; unknown if there are several threads."""
        counted = self.sides.get(order.id)
        if counted is None or order.args.num_threads > 1:
            return False
        base, branch = counted
        return are_identical(base.counts, branch.counts, base.functions, branch.functions)


def count_suite(sides: StartedSides, checked: CheckedPlan, observer: Observer) -> CountedSuite:
    """Count every order on the host that is to be counted. Without Valgrind, say so: everything is then timed."""
    wanted = [order.id for order in checked.orders if order.counts_instructions and not order.auto.on_device]
    if not wanted:
        return CountedSuite()
    observer.stage("counting instructions on both sides")
    try:
        counted = count_both(sides, checked, wanted, Layout(), observer)
    except (ToolMissing, WorkerError) as error:
        return CountedSuite(warnings=(f"instructions were not counted: {error.message}",))
    missing = len(wanted) - len(counted)
    warnings = (f"instructions of {missing} benchmarks could not be counted",) if missing else ()
    return CountedSuite(counted, warnings)


def count_both(
    sides: StartedSides, checked: CheckedPlan, order_ids: Sequence[str], layout: Layout, observer: Observer
) -> dict[str, tuple[SideCount, SideCount]]:
    done = 0

    def on_count() -> None:
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
    on_count: Callable[[], object] = lambda: None,
) -> list[list[SideOutcome]]:
    """Count each session's orders, all sessions at the same time: counting is exact, so they need no quiet.

    Return for each session the outcomes of its orders, in their order. An environment that does not start raises.
    """

    def count_side(session: Session, ready: Sequence[ReadyOrder]) -> list[SideOutcome]:
        # Those of the frozen layout stay: they count again, with Python's functions, what turns out to have changed.
        is_frozen_layout = layout in (None, Layout())
        counter = InstructionCounter(session, layout=layout, python_frames=is_frozen_layout)
        try:
            outcomes = []
            for each in ready:
                outcomes.append(_count(counter, each))
                on_count()
            return outcomes
        finally:
            if not is_frozen_layout:
                counter.close()

    threads = ThreadPoolExecutor(len(sessions))
    try:
        return list(threads.map(count_side, sessions, orders))
    except BaseException:
        for session in sessions:
            session.kill()
        raise
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _count(counter: InstructionCounter, ready: ReadyOrder) -> SideOutcome:
    try:
        counted = counter.count(count_task_of(ready))
    except (ToolMissing, WorkerStartError):
        raise
    except PhotometerError as error:
        return error
    counts = dataclasses.replace(counted.instruction_counts(), task_spec=task_spec_of(ready.order))
    stacks = pack_stacks(fitted_stacks(counted.stacks(smallest_share=SMALLEST_SHARE), counts))
    return SideCount(counts, exclusive_counts(counted.profiles[counts.stable_repeat]), stacks)
