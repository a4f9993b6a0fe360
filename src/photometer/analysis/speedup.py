"""Speedup: how much faster TorchScript or torch.compile is than eager, measured in pairs; and the table of them all.

In: the verdicts of pairs, and the records of a results file. Out: Speedup records, and a RuntimeTable with one row per
benchmark and compiled variant: eager, TorchScript, compiled, the speed-up, and the compile report.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from photometer.analysis.verdict import Verdict
from photometer.model.compile_report import CompileReport
from photometer.model.measurement import Measurement
from photometer.model.records import HighEnd, LowEnd, NotNegative, from_record
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.work_order import WorkOrder, WorkOrders


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
    def of(cls, order: WorkOrder, eager: WorkOrder, verdict: Verdict) -> Speedup:
        low, high = verdict.interval
        return cls(
            order.id,
            eager.id,
            1.0 / verdict.ratio,
            (0.0 if high == float("inf") else 1.0 / high, 1.0 / low if low > 0.0 else float("inf")),
            verdict.base_seconds,
            verdict.base_seconds * verdict.ratio,
            verdict.replicates,
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


@dataclasses.dataclass(frozen=True)
class RuntimeRow:
    """One compiled variant of a benchmark beside the others; a figure that was not measured is None."""

    name: str
    variant: str
    eager_seconds: float | None = None
    torchscript_seconds: float | None = None
    seconds: float | None = None
    speedup: Speedup | None = None
    torchscript_speedup: Speedup | None = None
    report: CompileReport | None = None


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


def runtime_rows(plan: WorkOrders, records: Iterable[Mapping[str, Any]]) -> tuple[RuntimeRow, ...]:
    """Return a row per compiled variant, from the records that there are."""
    seconds: dict[str, float] = {}
    speedups: dict[str, Speedup] = {}
    reports: dict[str, CompileReport] = {}
    for record in records:
        order = record.get("order")
        order_id = str(order["id"]) if isinstance(order, Mapping) else ""
        if record["kind"] == Measurement.KIND and order_id:
            seconds[order_id] = from_record(Measurement, record).seconds
        elif record["kind"] == CompileReport.KIND and order_id:
            reports[order_id] = from_record(CompileReport, record)
        elif record["kind"] == Speedup.KIND:
            speedup = from_record(Speedup, record)
            speedups[speedup.order_id] = speedup
    # Of the pairs, if there are any: all were then measured in the same moments.
    for speedup in speedups.values():
        seconds |= {speedup.eager_id: speedup.eager_seconds, speedup.order_id: speedup.seconds}
    return tuple(
        RuntimeRow(
            group.name,
            compiled.auto.compile.word,
            seconds.get(group.eager.id),
            None if group.torchscript is None else seconds.get(group.torchscript.id),
            seconds.get(compiled.id),
            speedups.get(compiled.id),
            None if group.torchscript is None else speedups.get(group.torchscript.id),
            reports.get(compiled.id),
        )
        for group in runtime_groups(plan)
        for compiled in group.compiled
    )
