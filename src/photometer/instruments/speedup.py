"""Speed-up: how much faster TorchScript or torch.compile is than eager. `photometer run` measures it.

In: the variants of a benchmark that differ only in their runtime. Out: a Speedup for each that is not eager. Both are
timed in the same moments, in forks of servers that have imported the same, so that the ratio is known far better than
either time.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from photometer.instruments.contest import PairedTimes, time_against
from photometer.instruments.declaration import Asked, Beside, Figure, Instrument
from photometer.model.records import HighEnd, LowEnd, NotNegative
from photometer.model.task import Language
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.session import Session

# Each replicate compiles again, from its cache: a second or two. With five, the interval is a few per cent wide.
PRECISION = 0.01
MOST_REPLICATES = 5
REPLICATE_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class Speedup:
    """Eager's time divided by this variant's: 2.0 is twice as fast. Both were measured in turn, in the same moments."""

    KIND: ClassVar[str] = "speedup"

    order_id: str
    eager_id: str
    speedup: NotNegative
    interval: tuple[LowEnd, HighEnd]
    eager_seconds: NotNegative
    seconds: NotNegative
    replicates: int

    @classmethod
    def of(cls, order: WorkOrder, eager: WorkOrder, times: PairedTimes) -> Speedup:
        low, high = times.interval
        return cls(
            order.id,
            eager.id,
            1.0 / times.ratio,
            (0.0 if high == float("inf") else 1.0 / high, 1.0 / low if low > 0.0 else float("inf")),
            times.base_seconds,
            times.seconds,
            times.replicates,
        )


@dataclasses.dataclass(frozen=True)
class RuntimeGroup:
    """The variants of one benchmark that differ only in the runtime."""

    eager: WorkOrder
    torchscript: WorkOrder | None
    compiled: tuple[WorkOrder, ...]

    @property
    def others(self) -> tuple[WorkOrder, ...]:
        return (*(() if self.torchscript is None else (self.torchscript,)), *self.compiled)

    @property
    def name(self) -> str:
        return self.eager.name.title


def runtime_groups(plan: WorkOrders) -> tuple[RuntimeGroup, ...]:
    """Return the groups that have an eager and a compiled variant, in the order of the plan."""
    groups: dict[tuple[Any, ...], list[WorkOrder]] = {}
    for order in plan:
        auto = order.auto
        key = (order.label, auto.autograd, auto.language, auto.num_threads, auto.device, auto.sizes)
        groups.setdefault(key, []).append(order)
    found = []
    for orders in groups.values():
        by_runtime = {order.auto.runtime: order for order in orders}
        compiled = tuple(order for order in orders if order.auto.runtime is RuntimeMode.COMPILED)
        eager = by_runtime.get(RuntimeMode.EAGER)
        if compiled and eager is not None:
            found.append(RuntimeGroup(eager, by_runtime.get(RuntimeMode.TORCHSCRIPT), compiled))
    return tuple(found)


def eager_variants(plan: WorkOrders) -> dict[str, tuple[WorkOrder, ...]]:
    """Return, by the id of each order that has one, the eager variant of the same benchmark."""
    groups = [group for group in runtime_groups(plan) if group.eager.args.language is Language.PYTHON]
    return {other.id: (group.eager,) for group in groups for other in group.others}


def speed_up(session: Session, asked: Asked) -> Speedup:
    """Time a variant against the eager one."""
    (eager,) = asked.against
    times = time_against(
        session, asked, precision=PRECISION, most_replicates=MOST_REPLICATES, seconds=REPLICATE_SECONDS
    )
    return Speedup.of(asked.order, eager.order, times)


SPEEDUP = Instrument(
    name="speedup",
    doing="comparing with the eager variant",
    record=Speedup,
    measure=speed_up,
    figures=(
        Figure(
            "speedup",
            "×",
            of=lambda found: found.speedup,
            exact=False,
            head="speed-up",
            worse="less",
            interval=lambda found: found.interval,
        ),
    ),
    needs=("wall", "compiled"),
    against=eager_variants,
    beside=Beside.OTHER_CORES,
    first_guess_seconds=10.0,
)
