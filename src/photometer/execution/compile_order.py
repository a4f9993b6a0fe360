"""A compiled variant of a benchmark: which server it runs in, where its compiler keeps things, and its report."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from photometer.execution.executor import ReadyOrder
from photometer.execution.order_record import task_spec_of
from photometer.instruments.compile_report import cache_folder, report_compile
from photometer.model.records import to_record
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.work_order import WorkOrder
from photometer.session.session import ServerKind, Session, compiling
from photometer.worker.messages import Prepare, ReportCompile


def is_compiled(order: WorkOrder) -> bool:
    return order.auto.runtime is RuntimeMode.COMPILED


def kind_of(order: WorkOrder) -> ServerKind:
    """Return the kind of server that an order runs in: one that has imported the compiler, if it is compiled."""
    return compiling(order.auto.device) if is_compiled(order) else ServerKind()


def preparation_of(
    session: Session, ready: ReadyOrder, cores: Sequence[int] = (), *, device_time: bool = False
) -> Prepare:
    """Return what a child prepares; a compiled order finds there what it has compiled before in this session."""
    prepare = ready.preparation(device_time=device_time)
    if not is_compiled(ready.order):
        return prepare
    folder = cache_folder(session, ready.order.id, prepare.device, cores)
    return dataclasses.replace(prepare, compile_cache=str(folder))


def compile_order(session: Session, ready: ReadyOrder, cores: Sequence[int] = ()) -> dict[str, Any]:
    """Compile it cold and warm, and with the other sizes of its sweep."""
    order, prepare = ready.order, ready.preparation()
    request = ReportCompile(
        prepare.stmt,
        prepare.setup,
        cache="",
        later=order.recompile_with,
        num_threads=prepare.num_threads,
        device=prepare.device,
    )
    report = report_compile(
        session, request, task_spec_of(order), order.id, timeout_seconds=order.timeout_seconds, cores=cores
    )
    return to_record(report)
