"""Speed-ups and memory of both sides, on sessions without processes."""

from __future__ import annotations

import pytest

from photometer.analysis.speedup import Speedup
from photometer.analysis.suite_judge import FEWEST_REPLICATES
from photometer.comparing.runtimes import MOST_REPLICATES, measure_speedups
from photometer.definition import GroupedSetup, GroupedStmts
from photometer.plan import materialize
from photometer.session.session import COMPILING
from photometer.worker.messages import Prepare
from tests.session.fake_session import FACTS, Behaviour, FakeServers

pytestmark = pytest.mark.lengthy

SUITE = {
    "mul": GroupedStmts(
        "y = x * 2", setup=GroupedSetup("x = torch.ones(4)"), signature="f(x) -> y", torchscript=True, compiled=True
    )
}
PLAN = materialize(SUITE)
EAGER, SCRIPTED, COMPILED = PLAN.orders
TIMES = {
    EAGER.args.stmt: Behaviour(4e-6),
    SCRIPTED.args.stmt: Behaviour(2e-6),
    COMPILED.args.stmt: Behaviour(1e-6),
}


def speedups(behaviours: dict[str, Behaviour], **options: object) -> tuple[list[Speedup], list[str], FakeServers]:
    servers = FakeServers({"fake": behaviours})
    kept: list[Speedup] = []
    problems: list[str] = []
    with servers.session() as session:
        measure_speedups(
            PLAN,
            session,
            FACTS,
            keep=kept.append,
            on_problem=lambda name, message: problems.append(f"{name}: {message}"),
            **options,  # type: ignore[arg-type]
        )
    return kept, problems, servers


def test_every_variant_is_measured_beside_eager() -> None:
    found, problems, servers = speedups(TIMES)
    assert [each.order_id for each in found] == [SCRIPTED.id, COMPILED.id]
    assert [each.speedup for each in found] == pytest.approx([2.0, 4.0], rel=0.05)
    assert all(low <= each.speedup <= high for each in found for low, high in [each.interval])
    assert all(FEWEST_REPLICATES <= each.replicates <= MOST_REPLICATES for each in found)
    assert problems == []
    # All sides are forks of servers that have imported the compiler, and the compiled one has a cache of its own.
    assert {server.launch.imports for server in servers.made} == {COMPILING.imports}
    caches = {r.stmt: r.compile_cache for server in servers.made for r in server.log if isinstance(r, Prepare)}
    assert caches[COMPILED.args.stmt].endswith(COMPILED.id)
    assert caches[EAGER.args.stmt] == ""


def test_what_failed_before_is_left_out() -> None:
    found, _, _ = speedups(TIMES, failed={SCRIPTED.id})
    assert [each.order_id for each in found] == [COMPILED.id]
    assert speedups(TIMES, failed={EAGER.id})[0] == []


def test_a_failure_here_is_a_problem_and_no_error() -> None:
    found, problems, _ = speedups({COMPILED.args.stmt: Behaviour(raises="boom")})
    assert found == []
    assert problems == ["mul: boom"]
