"""climb: every rung of a ladder measured live beside the rung below it, both in one environment.

In: pairs of orders, the lower rung as base. Out: the replicates of each, by the id of the rung's order, or the error
it met. The two rungs alternate in blocks on one core, so that what is added is known far better than either time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from photometer.errors import PhotometerError
from photometer.execution.comparison_run import PairedOrder
from photometer.execution.duet_run import DuetRun
from photometer.model.environment import Environment
from photometer.plan.work_order import WorkOrder
from photometer.session.fork_server import ForkServer
from photometer.stats.replicate import ReplicateEstimate, estimate_replicate

# With eight replicates of a tenth of a second the interval is about half a per cent of the lower rung either way.
REPLICATES = 8
REPLICATE_SECONDS = 0.1

Climbed = tuple[ReplicateEstimate, ...] | PhotometerError
OnRung = Callable[[str, Climbed], object]


def stand_on(order: WorkOrder, below: WorkOrder) -> PairedOrder:
    """The rung as branch, the one below as base."""
    requests = [
        {"stmt": one.args.stmt, "setup": one.args.setup, "num_threads": one.args.num_threads} for one in (below, order)
    ]
    return PairedOrder(order, *requests)


def climb(
    pairs: Sequence[PairedOrder],
    environment: Environment | None = None,
    *,
    replicates: int = REPLICATES,
    replicate_seconds: float = REPLICATE_SECONDS,
    on_rung: OnRung = lambda *_: None,
) -> dict[str, Climbed]:
    """`on_rung` is told the title and the outcome of each rung as it is known."""

    def start() -> ForkServer:
        return ForkServer(environment, small_pages=True)

    outcomes: dict[str, Climbed] = {}
    with DuetRun(start, start) as duet:
        for pair in pairs:
            try:
                outcome: Climbed = tuple(
                    _replicate(duet, pair, replicate_seconds, turn) for turn in range(max(replicates, 1))
                )
            except PhotometerError as error:
                outcome = error
            outcomes[pair.order.id] = outcome
            on_rung(pair.order.title, outcome)
    return outcomes


def _replicate(duet: DuetRun, pair: PairedOrder, seconds: float, turn: int) -> ReplicateEstimate:
    taken = duet.replicate(
        pair.prepare_base,
        pair.prepare_branch,
        seconds=seconds,
        timeout_seconds=pair.order.timeout_seconds,
        turn=turn,
    )
    return estimate_replicate(taken.base_seconds_per_run, taken.branch_seconds_per_run)
