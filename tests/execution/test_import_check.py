"""A module that cannot be imported is told once, before anything runs."""

from __future__ import annotations

import pytest

from photometer.definition import TimerArgs
from photometer.definition.suite import Suite
from photometer.errors import DefinitionError
from photometer.execution.import_check import check_imports, wanted_imports
from photometer.plan import materialize
from photometer.plan.work_order import WorkOrders
from tests.session.fake_session import Behaviour, FakeServers

SETUPS = {
    "one": "import mine\nimport math",
    "two": "import mine",
    "three": "from mine.parts import f",
    "guarded": "try:\n    import fast\nexcept ImportError:\n    fast = None",
    "late": "def f():\n    import later",
    "relative": "import os, sys",
}


def plan(*names: str) -> WorkOrders:
    chosen = {name: TimerArgs("pass", SETUPS[name]) for name in names or SETUPS}
    return materialize(Suite.from_benchmarks(chosen, name="suite"))


def test_only_imports_that_always_run_are_tried() -> None:
    assert wanted_imports(plan()) == {"import mine": 2, "from mine.parts import f": 1}


def test_nothing_is_started_if_there_is_nothing_to_try() -> None:
    servers = FakeServers()
    with servers.session() as session:
        check_imports(WorkOrders("empty", "", ()), session)
    assert not servers.made


def test_all_failures_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = FakeServers({"fake": {"pass": Behaviour(raises="ModuleNotFoundError: No module named 'mine'")}})
    with servers.session() as session, pytest.raises(DefinitionError) as told:
        check_imports(plan("one", "two", "three"), session)
    assert "'import mine' fails in 2 benchmarks" in str(told.value)
    assert "'from mine.parts import f' fails in 1 benchmark:" in str(told.value)
    assert sum(server.forks for server in servers.made) == 1


def test_what_can_run_is_not_stopped_by_what_cannot() -> None:
    servers = FakeServers({"fake": {"pass": Behaviour(raises="ModuleNotFoundError: No module named 'mine'")}})
    with servers.session() as session:
        check_imports(plan(), session)


def test_a_module_that_crashes_is_left_to_its_benchmark() -> None:
    servers = FakeServers({"fake": {"pass": Behaviour(dies=True)}})
    with servers.session() as session:
        check_imports(plan("one", "two"), session)
