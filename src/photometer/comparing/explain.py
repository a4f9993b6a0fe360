"""What stands behind a change: the same pairs in other memory layouts, and the instructions of both sides.

Only what changed is tried in other layouts, and only that is counted in more than one: each layout costs a start.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from functools import partial

from photometer.analysis.cause import InstructionChange, instruction_change
from photometer.comparing.comparison_file import ComparisonFile
from photometer.comparing.observer import Observer
from photometer.errors import PhotometerError, ToolMissing, WorkerError
from photometer.execution.comparison_run import PairedOrder
from photometer.execution.count_sides import SideCount, count_sides
from photometer.execution.duet_run import DuetRun
from photometer.execution.paired_replicate import ReplicateTaker
from photometer.execution.side_preparation import PreparedSide
from photometer.instruments.callgrind.layout_band import random_layouts
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.comparison_stacks import ComparisonStacks
from photometer.model.environment import Environment
from photometer.session.fork_server import ForkServer
from photometer.session.layout import Layout
from photometer.stats.replicate import estimate_replicate

# A median of three: one fork in a hundred has a stray floor.
REPLICATES_PER_LAYOUT = 3

Environments = tuple[Environment, Environment]


def try_other_layouts(
    environments: Environments,
    changed: Sequence[PairedOrder],
    layouts: int,
    core: int | None,
    file: ComparisonFile,
    observer: Observer,
) -> dict[str, tuple[float, ...]]:
    """Branch over base of each changed benchmark, one ratio for each other layout."""
    ratios: dict[str, list[float]] = {}
    if changed and layouts > 0:
        observer.stage("measuring what changed in other memory layouts")
    for number, layout in enumerate(random_layouts(layouts) if changed else (), start=1):
        starts = [partial(ForkServer, environment, layout=layout, small_pages=True) for environment in environments]
        with DuetRun(starts[0], starts[1], core=core) as duet:
            take = ReplicateTaker(duet, random.Random(), core, layout=number)
            for pair in changed:
                earlier = [r for r in file.replicates if r.layout == number and r.order_id == pair.order.id]
                try:
                    taken = earlier or [_kept(take(pair, 0), file) for _ in range(REPLICATES_PER_LAYOUT)]
                except WorkerError:
                    # It ran in the frozen layout; a crash in another is no part of the verdict.
                    continue
                logs = [estimate_replicate(r.base_seconds_per_run, r.branch_seconds_per_run).log_ratio for r in taken]
                ratios.setdefault(pair.order.id, []).append(math.exp(statistics.median(logs)))
        observer.step(number, layouts)
    return {order_id: tuple(found) for order_id, found in ratios.items()}


def count_instructions(
    environments: Environments,
    prepared: tuple[PreparedSide, PreparedSide],
    pairs: Sequence[PairedOrder],
    changed: Sequence[PairedOrder],
    layouts: int,
    file: ComparisonFile,
    observer: Observer,
) -> tuple[dict[str, InstructionChange], tuple[str, ...]]:
    """The instructions of each pair, by the order's id, and what could not be counted and why."""
    known = {
        order_id: result.instructions for order_id, result in file.results.items() if result.instructions is not None
    }
    wanted = [pair.order.id for pair in pairs if pair.order.id not in known]
    if not wanted:
        return known, ()
    observer.stage("counting instructions on both sides")
    try:
        first = _count(environments, prepared, wanted, Layout(), observer)
        telling = {pair.order.id for pair in changed}
        telling |= {order_id for order_id, sides in first.items() if _change([sides]).has_changed}
        again = [order_id for order_id in first if order_id in telling]
        others = random_layouts(layouts - 1) if again else ()
        more = [_count(environments, prepared, again, layout, observer) for layout in others]
    except (ToolMissing, WorkerError) as error:
        return known, (f"instructions were not counted: {error.message}",)
    changes = {
        order_id: _change([sides, *(other[order_id] for other in more if order_id in other)])
        for order_id, sides in first.items()
    }
    for order_id in again:
        base, branch = first[order_id]
        runs = base.counts.number_per_run
        file.keep(ComparisonStacks(order_id, runs, base.packed_stacks, branch.packed_stacks))
    missing = len(wanted) - len(first)
    warnings = (f"instructions of {missing} benchmarks could not be counted",) if missing else ()
    return {**known, **changes}, warnings


def _count(
    environments: Environments,
    prepared: tuple[PreparedSide, PreparedSide],
    order_ids: Sequence[str],
    layout: Layout,
    observer: Observer,
) -> dict[str, tuple[SideCount, SideCount]]:
    done = 0

    def on_count() -> None:
        nonlocal done
        done += 1
        observer.step(done, 2 * len(order_ids))

    orders = [[side.ready[order_id] for order_id in order_ids] for side in prepared]
    base, branch = count_sides(environments, orders, layout=layout, on_count=on_count)
    return {
        order_id: (ours, theirs)
        for order_id, ours, theirs in zip(order_ids, base, branch, strict=True)
        if not isinstance(ours, PhotometerError) and not isinstance(theirs, PhotometerError)
    }


def _change(layouts: Sequence[tuple[SideCount, SideCount]]) -> InstructionChange:
    base, branch = layouts[0]
    return instruction_change(
        [ours.counts for ours, _ in layouts],
        [theirs.counts for _, theirs in layouts],
        base.functions,
        branch.functions,
    )


def _kept(replicate: ComparisonReplicate, file: ComparisonFile) -> ComparisonReplicate:
    file.keep(replicate)
    return replicate
