"""One server for many owners: each keeps its child while it is alone, and gets a new one after another has asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from photometer.errors import WorkerCrashed
from photometer.session.shared_server import SharedServer


@pytest.fixture(scope="module")
def shared() -> Iterator[SharedServer]:
    server = SharedServer()
    yield server
    server.close()


def pid_of(shared: SharedServer, owner: object) -> int:
    return int(shared.ask(owner, [("prepare", {"stmt": "pass"})])[0]["pid"])


def test_child_is_kept_until_another_owner_asks(shared: SharedServer) -> None:
    first, second = object(), object()
    pid = pid_of(shared, first)
    assert pid_of(shared, first) == pid
    other = pid_of(shared, second)
    assert other != pid
    assert pid_of(shared, first) not in (pid, other)


def test_crash_costs_a_child_and_no_more(shared: SharedServer) -> None:
    owner = object()
    with pytest.raises(WorkerCrashed):
        shared.ask(owner, [("prepare", {"stmt": "import os; os.abort()", "warmup_runs": 1})])
    assert pid_of(shared, owner)
