"""Speed-ups over eager, on sessions without processes."""

from __future__ import annotations

import pytest

from photometer.definition import GroupedSetup, GroupedStmts
from photometer.instruments.declaration import Asked
from photometer.instruments.ready_order import ReadyOrder
from photometer.instruments.speedup import MOST_REPLICATES, Speedup, eager_variants, speed_up
from photometer.model.task import Language
from photometer.plan import materialize
from photometer.plan.work_order import WorkOrder
from photometer.session.session import COMPILING
from photometer.stats.replicate import FEWEST_REPLICATES
from photometer.worker.messages import Prepare
from tests.session.fake_session import Behaviour, FakeServers

pytestmark = pytest.mark.lengthy

PLAN = materialize(
    {
        "mul": GroupedStmts(
            "y = x * 2",
            "auto y = x * 2;",
            setup=GroupedSetup("x = torch.ones(4)", "auto x = torch::ones({4});"),
            signature="f(x) -> y",
            torchscript=True,
            compiled=["default", "reduce-overhead"],
        ),
        "alone": GroupedStmts("y = 1"),
    }
)
PYTHON = [order for order in PLAN if order.args.language is Language.PYTHON]
EAGER, SCRIPTED, COMPILED, REDUCED, ALONE = PYTHON


def measured(order: WorkOrder) -> tuple[Speedup, FakeServers]:
    times = {EAGER: 4e-6, SCRIPTED: 2e-6, COMPILED: 1e-6}
    servers = FakeServers({"fake": {each.args.stmt: Behaviour(seconds) for each, seconds in times.items()}})
    with servers.session() as session:
        return speed_up(session, Asked(ReadyOrder(order), cores=(0,), against=(ReadyOrder(EAGER),))), servers


def test_what_is_not_eager_is_measured_against_eager() -> None:
    assert eager_variants(PLAN) == {order.id: (EAGER,) for order in (SCRIPTED, COMPILED, REDUCED)}


def test_compiled_is_measured_beside_eager_in_servers_that_are_alike() -> None:
    found, servers = measured(COMPILED)
    assert (found.order_id, found.eager_id) == (COMPILED.id, EAGER.id)
    assert found.speedup == pytest.approx(4.0, rel=0.05)
    assert found.interval[0] <= found.speedup <= found.interval[1]
    assert FEWEST_REPLICATES <= found.replicates <= MOST_REPLICATES
    # Both sides are forks of servers that have imported the compiler, and the compiled one has a cache of its own.
    assert {server.launch.imports for server in servers.made} == {COMPILING.imports}
    caches = {r.stmt: r.compile_cache for server in servers.made for r in server.log if isinstance(r, Prepare)}
    assert caches[COMPILED.args.stmt].endswith(COMPILED.id)
    assert caches[EAGER.args.stmt] == ""


def test_torchscript_needs_no_compiler() -> None:
    found, servers = measured(SCRIPTED)
    assert found.speedup == pytest.approx(2.0, rel=0.05)
    assert {server.launch.imports for server in servers.made} != {COMPILING.imports}
