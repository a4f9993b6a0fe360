"""report_compile: compile a statement twice, in two fresh children with one cache: cold, then warm.

In: a session and the texts of a compiled variant, as plan/codegen_python.py writes them. Out: a CompileReport. The
cache belongs to this benchmark alone (session/compile_caches.py); importing the compiler is not part of its time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from photometer.model.compile_report import CompileReport
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec
from photometer.plan.work_order import WorkOrder
from photometer.session.session import Session, compiling
from photometer.session.shared import process_session
from photometer.worker.messages import CompileFacts, Prepare, ReportCompile

# Compiles what Inductor needs for any function.
_FIRST = 'torch.compile(lambda x: torch.relu(x) + 1)(torch.ones(64, device="{device}"))'
FIRST_SECONDS = 600.0


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
    cached = dataclasses.replace(request, cache=str(cache_folder(session, key, request.device, cores)))
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


def cache_folder(session: Session, key: str, device: str = "", cores: Sequence[int] = ()) -> Path:
    """Return the folder of a benchmark's torch.compile cache."""

    def fill(folder: Path) -> None:
        setup = _FIRST.format(device=device or "cpu")
        with session.child(compiling(device), cores) as child:
            child.ask(Prepare("pass", setup, compile_cache=str(folder)), FIRST_SECONDS)

    return session.compile_caches.of(key, device, fill)


def _ask(session: Session, request: ReportCompile, timeout_seconds: float, cores: Sequence[int]) -> CompileFacts:
    with session.child(compiling(request.device), cores) as child:
        return child.ask(request, timeout_seconds)


def report_statement(order: WorkOrder, session: Session | None = None) -> CompileReport:
    """Return the report of a statement (plan/compiled_statement.py), using this process's session by default."""
    args = order.args
    request = ReportCompile(args.stmt, args.setup, cache="", later=order.recompile_with, num_threads=args.num_threads)
    spec = TaskSpec(stmt="\n".join(order.label), setup=args.setup, num_threads=args.num_threads)
    return report_compile(session or process_session(), request, spec, order.id, timeout_seconds=order.timeout_seconds)
