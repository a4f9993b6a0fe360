"""measure_speedups: TorchScript and torch.compile beside eager, in alternating blocks. `photometer run` uses it.

Every variant of a benchmark is measured at the same time as the eager one, so that the ratio is known far better than
either time. All children, eager ones too, are forks of servers that have imported the compiler: all sides are alike.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from photometer.analysis.judge import Criteria
from photometer.analysis.speedup import RuntimeGroup, Speedup, runtime_groups
from photometer.comparing.fork_sampler import Contestants, ForkSampler
from photometer.comparing.verdict_loop import verdicts_to_precision
from photometer.errors import PhotometerError
from photometer.execution.prepare import Preparation
from photometer.instruments.ready_order import preparation_of
from photometer.instruments.replicate import Side
from photometer.model.task import Language
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.cores import quietest_core
from photometer.session.session import Session
from photometer.worker.messages import TorchFacts

# Each replicate compiles again, from its cache: a second or two. With five, the interval is a few per cent wide.
PRECISION = 0.01
MOST_REPLICATES = 5
REPLICATE_SECONDS = 0.2
# As for ladders: the sides may have quite different speeds, and then replicates scatter by more than about a per cent.
_CRITERIA = Criteria(reference_scale=100.0)

OnSpeedup = Callable[[Speedup], object]
OnProblem = Callable[[str, str], object]
OnBenchmark = Callable[[float, int, str], object]


def measure_speedups(
    plan: WorkOrders,
    session: Session,
    facts: TorchFacts,
    *,
    keep: OnSpeedup,
    failed: Collection[str] = (),
    on_problem: OnProblem = lambda *_: None,
    on_benchmark: OnBenchmark = lambda *_: None,
) -> None:
    """Measure each group of the plan that has compiled variants. `failed` are ids of orders that do not run.

    Before each replicate, `on_benchmark` gets how many benchmarks are done, also in part, how many there are, and the
    name of this one.
    """
    preparation = Preparation(facts)
    core = quietest_core()
    groups = [
        (group, others)
        for group in runtime_groups(plan)
        if group.eager.id not in failed and group.eager.args.language is Language.PYTHON
        if (others := [each for each in group.others if each.id not in failed])
    ]
    for done, (group, others) in enumerate(groups):

        def on_replicate(taken: int, done: int = done, group: RuntimeGroup = group) -> None:
            on_benchmark(done + taken / MOST_REPLICATES, len(groups), group.name)

        try:
            for speedup in _speedups(group, others, session, preparation, core, on_replicate):
                keep(speedup)
        except PhotometerError as error:
            on_problem(group.name, error.message)


def not_to_speed_up(records: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the ids of orders that failed before, or whose speed-up is already known."""
    failed = {str(record["order"]["id"]) for record in records if record["kind"] == "failure" and "order" in record}
    return failed | {str(record["order_id"]) for record in records if record["kind"] == Speedup.KIND}


def _speedups(
    group: RuntimeGroup,
    others: list[WorkOrder],
    session: Session,
    preparation: Preparation,
    core: int | None,
    on_replicate: Callable[[int], object],
) -> list[Speedup]:
    sides = tuple(_side(session, preparation, each) for each in (group.eager, *others))
    timeout_seconds = max(each.timeout_seconds for each in (group.eager, *others))
    on_replicate(0)
    verdicts = verdicts_to_precision(
        ForkSampler([Contestants(sides, timeout_seconds)], core=core, seconds=REPLICATE_SECONDS, seed=0),
        len(others),
        _CRITERIA,
        precision=PRECISION,
        most_replicates=MOST_REPLICATES,
        on_replicate=on_replicate,
    )
    return [Speedup.of(each, group.eager, verdict) for each, verdict in zip(others, verdicts, strict=True)]


def _side(session: Session, preparation: Preparation, order: WorkOrder) -> Side:
    ready = preparation.ready(order)
    prepare = preparation_of(session, ready)
    if order.auto.on_device:
        prepare = dataclasses.replace(prepare, device_time=True, synchronize=False)
    return Side(session, prepare)
