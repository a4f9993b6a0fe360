"""explain: the cause of a change: the user's code, and the same pairs in other layouts, by time and instructions.

Only benchmarks that changed are timed and counted in other layouts: each layout costs a start.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence

from photometer.analysis.cause import InstructionChange, instruction_change
from photometer.analysis.changed_code import ChangedCode, changed_code
from photometer.comparing.comparison_file import ComparisonFile
from photometer.comparing.counts import CountedSuite, count_both
from photometer.comparing.fork_sampler import ForkSampler, estimated, replicate_record
from photometer.comparing.framed_counts import framed_counts
from photometer.comparing.kept_counts import SideCount
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSides
from photometer.errors import ToolMissing, WorkerError
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.packed_stacks import ComparisonStacks, pack_stacks
from photometer.plan.work_order import WorkOrder
from photometer.session.layout import random_layouts
from photometer.session.session import ServerKind

# A median of three: one fork in a hundred has an outlier.
REPLICATES_PER_LAYOUT = 3


@dataclasses.dataclass(frozen=True)
class Explanation:
    """By order id: branch over base in each other layout, and the instructions of both sides."""

    layout_ratios: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    counts: Mapping[str, InstructionChange] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def explain(
    sides: StartedSides,
    checked: CheckedPlan,
    counted: CountedSuite,
    changed: Sequence[WorkOrder],
    layouts: int,
    file: ComparisonFile,
    core: int | None,
    observer: Observer,
) -> Explanation:
    """Find the code that changed, then try the `changed` orders in other layouts, by time and by count."""
    changed_ids = {order.id for order in changed}
    changed_ids |= {order_id for order_id, both in counted.sides.items() if _change([both]).has_changed}
    again = [order_id for order_id in counted.sides if order_id in changed_ids]
    code = _find_code(sides, checked, counted, again, file, observer)
    ratios = _try_other_layouts(sides, checked, changed, layouts - 1, file, core, observer)
    counts, warnings = _explain_counts(sides, checked, counted, again, layouts, observer, code)
    return Explanation(ratios, counts, warnings)


def _find_code(
    sides: StartedSides,
    checked: CheckedPlan,
    counted: CountedSuite,
    order_ids: Sequence[str],
    file: ComparisonFile,
    observer: Observer,
) -> dict[str, tuple[ChangedCode, ...]]:
    """Return the code behind each change, and keep both sides' stacks, so that text and flame graph agree."""
    framed = framed_counts(sides, checked, counted.sides, order_ids, observer)
    for order_id in order_ids:
        counts = [side.counts for side in counted.sides[order_id]]
        stacks = [side.packed_stacks for side in counted.sides[order_id]]
        if order_id in framed:
            stacks = [pack_stacks(side.stacks) for side in framed[order_id]]
        # A statement that does no more than the empty loop has no stacks.
        if all(side["tree"] for side in stacks):
            file.keep(ComparisonStacks(order_id, counts[0].number_per_run, *stacks))
    return {order_id: changed_code(*both) for order_id, both in framed.items()}


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
                # It ran in the frozen layout; a crash in another does not affect the verdict.
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


def _explain_counts(
    sides: StartedSides,
    checked: CheckedPlan,
    counted: CountedSuite,
    again: Sequence[str],
    layouts: int,
    observer: Observer,
    code: Mapping[str, tuple[ChangedCode, ...]],
) -> tuple[dict[str, InstructionChange], tuple[str, ...]]:
    """Return the change of every counted order; count those of `again` in other layouts, too."""
    more: list[Mapping[str, tuple[SideCount, SideCount]]] = []
    warnings: tuple[str, ...] = ()
    if again and layouts > 1:
        observer.stage("counting what changed in other memory layouts")
    try:
        for layout in random_layouts(layouts - 1) if again else ():
            more.append(count_both(sides, checked, again, layout, observer))
    except (ToolMissing, WorkerError) as error:
        warnings = (f"instructions were not counted in other layouts: {error.message}",)
    changes = {
        order_id: _change([both, *(other[order_id] for other in more if order_id in other)], code.get(order_id, ()))
        for order_id, both in counted.sides.items()
    }
    return changes, warnings


def _change(layouts: Sequence[tuple[SideCount, SideCount]], code: tuple[ChangedCode, ...] = ()) -> InstructionChange:
    base, branch = layouts[0]
    return instruction_change(
        [ours.counts for ours, _ in layouts],
        [theirs.counts for _, theirs in layouts],
        base.functions,
        branch.functions,
        code,
    )
