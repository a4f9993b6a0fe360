"""RuntimeRows: the variants of benchmarks that torch.compile compiles, side by side.

In: the records of a results file. Out: a row per benchmark and compiled variant: eager, TorchScript, compiled, the
speed-up (instruments/speedup.py), and the compile report.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from photometer.instruments.speedup import Speedup, runtime_groups
from photometer.model.compile_report import CompileReport
from photometer.model.measurement import Measurement
from photometer.model.order_name import order_id_of
from photometer.model.records import from_record
from photometer.plan.work_order import WorkOrders


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


def runtime_rows(plan: WorkOrders, records: Iterable[Mapping[str, Any]]) -> tuple[RuntimeRow, ...]:
    """Return a row per compiled variant, from the records that there are."""
    seconds: dict[str, float] = {}
    speedups: dict[str, Speedup] = {}
    reports: dict[str, CompileReport] = {}
    for record in records:
        order_id = order_id_of(record)
        if record["kind"] == Measurement.KIND and order_id:
            seconds[order_id] = from_record(Measurement, record).seconds
        elif record["kind"] == CompileReport.KIND and order_id:
            reports[order_id] = from_record(CompileReport, record)
        elif record["kind"] == Speedup.KIND:
            speedup = from_record(Speedup, record)
            speedups[speedup.order_id] = speedup
    # Of the pairs, if there are any: both were then measured in the same moments.
    seconds |= {speedup.order_id: speedup.seconds for speedup in speedups.values()}
    return tuple(
        RuntimeRow(
            group.name,
            compiled.auto.compile.word,
            speedups[compiled.id].eager_seconds if compiled.id in speedups else seconds.get(group.eager.id),
            None if group.torchscript is None else seconds.get(group.torchscript.id),
            seconds.get(compiled.id),
            speedups.get(compiled.id),
            None if group.torchscript is None else speedups.get(group.torchscript.id),
            reports.get(compiled.id),
        )
        for group in runtime_groups(plan)
        for compiled in group.compiled
    )
