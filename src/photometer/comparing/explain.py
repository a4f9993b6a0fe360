"""explain: what stands behind a change: the same pairs in other memory layouts, and the instructions of both sides.

Only what changed is tried in other layouts, and only that is counted in more than one: each layout costs a start.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from photometer.analysis.cause import InstructionChange, instruction_change
from photometer.comparing.comparison_file import ComparisonFile
from photometer.comparing.fork_sampler import ForkSampler, estimated, replicate_record
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSides
from photometer.comparing.request import ComparisonSettings
from photometer.errors import PhotometerError, ToolMissing, WorkerError, WorkerStartError
from photometer.execution.executor import ReadyOrder
from photometer.execution.measure_order import count_task_of
from photometer.execution.order_record import task_spec_of
from photometer.instruments.callgrind.call_tree import folded_stacks
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.figures import exclusive_counts
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.function_counts import FunctionCounts
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.packed_stacks import SMALLEST_SHARE, ComparisonStacks, pack_stacks
from photometer.plan.work_order import WorkOrder
from photometer.session.layout import Layout, random_layouts
from photometer.session.session import ServerKind, Session

# A median of three: one fork in a hundred has a stray floor.
REPLICATES_PER_LAYOUT = 3


@dataclasses.dataclass(frozen=True)
class Explanation:
    """By order id: branch over base in each other layout, and the instructions of both sides."""

    layout_ratios: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    counts: Mapping[str, InstructionChange] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class SideCount:
    """One order on one side under one layout."""

    counts: InstructionCounts
    functions: FunctionCounts
    # As pack_stacks leaves them: the whole tree of a large model is many megabytes.
    packed_stacks: Mapping[str, Any] = dataclasses.field(default_factory=dict)


SideOutcome = SideCount | PhotometerError


def explain(
    sides: StartedSides,
    checked: CheckedPlan,
    judged: Sequence[WorkOrder],
    changed: Sequence[WorkOrder],
    settings: ComparisonSettings,
    file: ComparisonFile,
    core: int | None,
    observer: Observer,
) -> Explanation:
    """Try the `changed` orders in other layouts, and count the instructions of all that were `judged`."""
    ratios = _try_other_layouts(sides, checked, changed, settings.layouts - 1, file, core, observer)
    if not settings.instructions:
        return Explanation(ratios)
    counts, warnings = _count_instructions(sides, checked, judged, changed, settings.layouts, file, observer)
    return Explanation(ratios, counts, warnings)


def _try_other_layouts(
    sides: StartedSides,
    checked: CheckedPlan,
    changed: Sequence[WorkOrder],
    layouts: int,
    file: ComparisonFile,
    core: int | None,
    observer: Observer,
) -> dict[str, tuple[float, ...]]:
    ratios: dict[str, list[float]] = {}
    if changed and layouts > 0:
        observer.stage("measuring what changed in other memory layouts")
    for number, layout in enumerate(random_layouts(layouts) if changed else (), start=1):
        sampler = ForkSampler(checked.contestants(sides, changed), core=core, layout=layout)
        for index, order in enumerate(changed):
            taken = [r for r in file.replicates if r.layout == number and r.order_id == order.id]
            try:
                for turn in range(0 if taken else REPLICATES_PER_LAYOUT):
                    taken.append(replicate_record(order.id, sampler.take(index, turn), number))
                    file.keep(taken[-1])
            except WorkerError:
                # It ran in the frozen layout; a crash in another is no part of the verdict.
                continue
            ratios.setdefault(order.id, []).append(math.exp(statistics.median(map(_log_ratio, taken))))
        for side in sides:
            side.session.drop(ServerKind(layout))
        observer.step(number, layouts)
    return {order_id: tuple(found) for order_id, found in ratios.items()}


def _log_ratio(replicate: ComparisonReplicate) -> float:
    sides = (replicate.base_seconds_per_run, replicate.branch_seconds_per_run)
    (estimate,) = estimated(0, sides, replicate.measuring_seconds).estimates
    return estimate.log_ratio


def _count_instructions(
    sides: StartedSides,
    checked: CheckedPlan,
    judged: Sequence[WorkOrder],
    changed: Sequence[WorkOrder],
    layouts: int,
    file: ComparisonFile,
    observer: Observer,
) -> tuple[dict[str, InstructionChange], tuple[str, ...]]:
    """Return the instructions of each order, and what could not be counted and why."""
    known = {
        order_id: result.instructions for order_id, result in file.results.items() if result.instructions is not None
    }
    wanted = [order.id for order in judged if order.id not in known]
    if not wanted:
        return known, ()
    observer.stage("counting instructions on both sides")
    try:
        first = _count_both(sides, checked, wanted, Layout(), observer)
        telling = {order.id for order in changed}
        telling |= {order_id for order_id, counts in first.items() if _change([counts]).has_changed}
        again = [order_id for order_id in first if order_id in telling]
        others = random_layouts(layouts - 1) if again else ()
        more = [_count_both(sides, checked, again, layout, observer) for layout in others]
    except (ToolMissing, WorkerError) as error:
        return known, (f"instructions were not counted: {error.message}",)
    changes = {
        order_id: _change([counts, *(other[order_id] for other in more if order_id in other)])
        for order_id, counts in first.items()
    }
    for order_id in again:
        base, branch = first[order_id]
        runs = base.counts.number_per_run
        file.keep(ComparisonStacks(order_id, runs, base.packed_stacks, branch.packed_stacks))
    missing = len(wanted) - len(first)
    warnings = (f"instructions of {missing} benchmarks could not be counted",) if missing else ()
    return {**known, **changes}, warnings


def _count_both(
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
        counter = InstructionCounter(session, layout=layout)
        try:
            outcomes = []
            for each in ready:
                outcomes.append(_count(counter, each))
                on_count()
            return outcomes
        finally:
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
    profile = counted.profiles[counts.stable_repeat]
    stacks = pack_stacks(folded_stacks(profile, smallest_share=SMALLEST_SHARE))
    return SideCount(counts, exclusive_counts(profile), stacks)


def _change(layouts: Sequence[tuple[SideCount, SideCount]]) -> InstructionChange:
    base, branch = layouts[0]
    return instruction_change(
        [ours.counts for ours, _ in layouts],
        [theirs.counts for _, theirs in layouts],
        base.functions,
        branch.functions,
    )
