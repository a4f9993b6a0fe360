"""report_compile: compile a statement twice, in two fresh children with one cache: cold, then warm.

In: a session and the texts of a compiled variant, as plan/codegen_python.py writes them. Out: a CompileReport. The
cache belongs to this benchmark alone (session/session.py); importing the compiler is not part of its time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from photometer.instruments.declaration import Asked, Instrument, Option
from photometer.instruments.ready_order import cache_folder, is_compiled, task_spec_of
from photometer.model.compile_report import CompileReport
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec
from photometer.plan.work_order import WorkOrder
from photometer.session.session import Session, compiling
from photometer.session.shared import process_session
from photometer.worker.messages import CompileFacts, Prepare, ReportCompile


def report_compile(
    session: Session,
    request: ReportCompile,
    task_spec: TaskSpec,
    key: str,
    *,
    timeout_seconds: float,
    cores: Sequence[int] = (),
) -> CompileReport:
    """Compile cold, call with the other sizes, and compile warm. `key` names the benchmark's own cache."""
    session.compile_caches.forget(key)
    folder = cache_folder(session, key, request.device, cores, request.visible_devices)
    cached = dataclasses.replace(request, cache=str(folder))
    facts = _ask(session, cached, timeout_seconds, cores)
    warm = _ask(session, dataclasses.replace(cached, later=()), timeout_seconds, cores)
    record = {
        **facts.report,
        "kind": CompileReport.KIND,
        "task_spec": to_record(task_spec),
        "warm_compile_seconds": warm.report.get("compile_seconds"),
        "warm_cache_hits": warm.report.get("cache_hits", 0),
    }
    return from_record(CompileReport, record)


def _ask(session: Session, request: ReportCompile, timeout_seconds: float, cores: Sequence[int]) -> CompileFacts:
    kind = compiling(request.device).importing(Prepare(request.stmt, request.setup))
    with session.child(kind, cores) as child:
        return child.ask(request, timeout_seconds)


def report_statement(order: WorkOrder, session: Session | None = None) -> CompileReport:
    """Return the report of a statement (plan/compiled_statement.py), using this process's session by default."""
    args = order.args
    request = ReportCompile(args.stmt, args.setup, cache="", later=order.recompile_with, num_threads=args.num_threads)
    spec = TaskSpec(stmt="\n".join(order.label), setup=args.setup, num_threads=args.num_threads)
    return report_compile(session or process_session(), request, spec, order.id, timeout_seconds=order.timeout_seconds)


def compile_order(session: Session, asked: Asked) -> CompileReport:
    """Compile an order cold and warm, and with the other sizes of its sweep."""
    order, prepare = asked.order, asked.ready.preparation()
    request = ReportCompile(
        prepare.stmt,
        prepare.setup,
        cache="",
        later=order.recompile_with,
        num_threads=prepare.num_threads,
        device=prepare.device,
        visible_devices=prepare.visible_devices,
        seed=prepare.seed,
    )
    return report_compile(
        session, request, task_spec_of(order), order.id, timeout_seconds=order.timeout_seconds, cores=asked.cores
    )


COMPILE_REPORT = Instrument(
    name="compile",
    doing="torch.compile",
    record=CompileReport,
    measure=compile_order,
    option=Option(
        "compile_report", "Report compile time, graph breaks and recompilations of compiled variants.", default=True
    ),
    needs=("wall", "compiled"),
    applies=lambda order, options: is_compiled(order) and not order.auto.ranks,
    ends_order=True,
    first_guess_seconds=15.0,
)
