"""Compiled orders on a session without processes: their report, their cache, their memory, and the steps of a run."""

from __future__ import annotations

import pytest

from photometer.definition import GroupedSetup, GroupedStmts
from photometer.errors import SnippetError
from photometer.execution.agenda import Agenda
from photometer.execution.run_settings import RunSettings
from photometer.execution.steps import Step
from photometer.instruments.compile_report import compile_order
from photometer.instruments.declaration import Asked
from photometer.instruments.memory import take_memory
from photometer.instruments.ready_order import ReadyOrder, kind_of, preparation_of, run_once
from photometer.model.compile_report import CompileReport
from photometer.plan import WorkOrder, materialize
from photometer.session.session import COMPILING, ServerKind
from photometer.worker.messages import Prepare, ReportCompile
from tests.session.fake_session import Behaviour, FakeServers

SUITE = {
    "add": GroupedStmts(
        "y = x + n",
        setup=GroupedSetup("x = torch.ones(n)"),
        signature="f(x) -> y",
        compiled=True,
        sizes={"n": (4, 8, 16)},
    )
}
PLAN = materialize(SUITE)
EAGER = PLAN.orders[0]
COMPILED = next(order for order in PLAN if order.recompile_with)


def report(behaviour: Behaviour) -> tuple[CompileReport, FakeServers]:
    servers = FakeServers({"fake": {COMPILED.args.stmt: behaviour}})
    with servers.session() as session:
        return compile_order(session, Asked(ReadyOrder(COMPILED))), servers


def test_an_order_is_compiled_cold_then_warm_in_one_cache_of_its_own() -> None:
    found, servers = report(Behaviour())
    assert (found.compile_seconds, found.warm_compile_seconds) == (9.0, 1.0)
    assert (found.cache_misses, found.warm_cache_hits) == (1, 1)
    (server,) = servers.made
    asked = [each for each in server.log if isinstance(each, ReportCompile)]
    assert len({each.cache for each in asked}) == 1
    # The other sizes are for the first alone: the second is timed.
    assert [len(each.later) for each in asked] == [2, 0]
    assert len(found.recompilations) == 2
    assert found.swept


def test_breaks_and_recompilations_are_complained_of_if_asked() -> None:
    found, _ = report(Behaviour(graph_breaks=1))
    assert found.complaints(()) == []
    assert found.complaints(("graph-break",)) == ["1 graph break"]
    assert found.complaints(("recompile", "graph-break")) == ["1 graph break", "2 recompilations"]


def test_a_compiler_that_fails_is_one_error() -> None:
    with pytest.raises(SnippetError, match="BackendCompilerFailed"):
        report(Behaviour(raises="BackendCompilerFailed: boom"))


def test_only_compiled_orders_have_a_cache_and_a_server_that_compiles() -> None:
    assert (kind_of(EAGER), kind_of(COMPILED)) == (ServerKind(), COMPILING)
    with FakeServers().session() as session:
        assert preparation_of(session, ReadyOrder(EAGER)).compile_cache == ""
        folder = preparation_of(session, ReadyOrder(COMPILED)).compile_cache
        assert folder.endswith(COMPILED.id)
        assert preparation_of(session, ReadyOrder(COMPILED)).compile_cache == folder


def test_a_single_run_finds_what_was_compiled_before() -> None:
    servers = FakeServers({"fake": {COMPILED.args.stmt: Behaviour()}})
    with servers.session() as session:
        folder = preparation_of(session, ReadyOrder(COMPILED)).compile_cache
        run_once(session, ReadyOrder(COMPILED))
    prepared = [each for server in servers.made for each in server.log if isinstance(each, Prepare)]
    assert [each.compile_cache for each in prepared if each.stmt == COMPILED.args.stmt] == [folder]
    assert {server.launch.imports for server in servers.made} == {COMPILING.imports}


def test_memory_is_measured_without_a_run_before() -> None:
    servers = FakeServers({"fake": {EAGER.args.stmt: Behaviour(allocated_bytes=64)}})
    with servers.session() as session:
        measured = take_memory(session, ReadyOrder(EAGER))
    assert (measured.peak_bytes, measured.allocations, measured.process_peak_bytes) == (64, 1, 8192)
    prepared = [each for each in servers.made[0].log if isinstance(each, Prepare)]
    assert {each.warmup_runs for each in prepared} == {0}


def steps_of(order: WorkOrder, settings: RunSettings) -> list[str]:
    """The steps that an agenda gives an order, in their order."""
    agenda = Agenda(PLAN, [Step(name) for name in settings.steps], cores=1)
    taken = []
    while job := agenda.next_early() or agenda.next_quiet(wide=False) or agenda.next_late(count=True):
        agenda.take(job)
        if job.order == order:
            taken.append(job.step.name)
        agenda.done(job)
    return taken


def test_an_order_compiles_first_and_its_memory_comes_before_counting() -> None:
    asked = RunSettings(options={"memory": True})
    assert steps_of(COMPILED, asked) == ["compile", "time", "speedup", "memory", "count"]
    assert steps_of(EAGER, asked) == ["time", "memory", "count"]
    assert steps_of(COMPILED, RunSettings(options={"wall": False})) == ["count"]
    assert steps_of(EAGER, RunSettings(options={"wall": False, "instructions": False, "memory": True})) == ["memory"]
