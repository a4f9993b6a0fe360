"""The loop of a live comparison: replicate after replicate of whichever benchmark needs one, until the judge is done.

In: pairs of orders ready to run, a function that takes one replicate, a judge, and what an earlier run has left. Out:
which failed. Every replicate goes to `keep` before it is judged, so that a killed comparison loses at most one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from photometer.errors import PhotometerError, WorkerCrashed, WorkerTimeout
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.plan.work_order import WorkOrder
from photometer.stats.replicate import ReplicateEstimate, estimate_replicate


@dataclasses.dataclass(frozen=True)
class PairedOrder:
    """One benchmark and what the children of each side are to prepare for it."""

    order: WorkOrder
    prepare_base: dict[str, Any]
    prepare_branch: dict[str, Any]

    @property
    def on_device(self) -> bool:
        return self.order.auto.on_device


class SuiteWatcher(Protocol):
    """Who decides; comparison.suite_judge is the one there is. The verdict it answers is passed on, not looked at."""

    def add(self, index: int, estimate: ReplicateEstimate, seconds: float) -> Any: ...

    def give_up(self, index: int) -> None: ...

    def next(self, seconds_left: float) -> int | None: ...


TakeReplicate = Callable[[PairedOrder, int], ComparisonReplicate]
"""A pair and how many replicates it has had already."""

OnReplicate = Callable[[int, Any, float], object]
"""Index of the benchmark, its verdict so far, and the measuring seconds spent in all."""


def run_comparison(
    pairs: Sequence[PairedOrder],
    take: TakeReplicate,
    judge: SuiteWatcher,
    *,
    budget_seconds: float,
    known: Iterable[ComparisonReplicate] = (),
    keep: Callable[[ComparisonReplicate], object] = lambda _: None,
    on_replicate: OnReplicate = lambda *_: None,
) -> dict[int, PhotometerError]:
    """Run until the judge has no next benchmark. Returns the errors of those that were given up."""
    places = {pair.order.id: index for index, pair in enumerate(pairs)}
    turns = [0] * len(pairs)
    spent = 0.0
    failed: dict[int, PhotometerError] = {}

    def add(replicate: ComparisonReplicate) -> None:
        nonlocal spent
        index = places[replicate.order_id]
        turns[index] += 1
        spent += replicate.measuring_seconds
        estimate = estimate_replicate(replicate.base_seconds_per_run, replicate.branch_seconds_per_run)
        on_replicate(index, judge.add(index, estimate, replicate.measuring_seconds), spent)

    for replicate in known:
        if replicate.order_id in places:
            add(replicate)
    while (index := judge.next(budget_seconds - spent)) is not None:
        try:
            replicate = _take_with_retries(pairs[index], turns[index], take)
        except PhotometerError as error:
            failed[index] = error
            judge.give_up(index)
            continue
        keep(replicate)
        add(replicate)
    return failed


def _take_with_retries(pair: PairedOrder, turn: int, take: TakeReplicate) -> ComparisonReplicate:
    """A crash or a time-out is now and then the machine's doing; an exception of the user's code comes again."""
    for _ in range(pair.order.retries):
        try:
            return take(pair, turn)
        except (WorkerCrashed, WorkerTimeout):
            continue
    return take(pair, turn)
