"""One child for many owners: each keeps it while it is alone, and gets a new one after another has asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from photometer.errors import WorkerCrashed
from photometer.session.session import Session
from photometer.session.shared import SharedChild, process_session
from photometer.worker.messages import Prepare

pytestmark = pytest.mark.lengthy


@pytest.fixture(scope="module")
def shared() -> Iterator[SharedChild]:
    with Session() as session:
        child = SharedChild(lambda: session)
        yield child
        child.close()


def pid_of(shared: SharedChild, owner: object) -> int:
    shared.ask(owner, [Prepare("pass")])
    assert shared._child is not None
    return shared._child.pid


def test_child_is_kept_until_another_owner_asks(shared: SharedChild) -> None:
    first, second = object(), object()
    pid = pid_of(shared, first)
    assert pid_of(shared, first) == pid
    other = pid_of(shared, second)
    assert other != pid
    assert pid_of(shared, first) not in (pid, other)


def test_crash_costs_a_child_and_no_more(shared: SharedChild) -> None:
    owner = object()
    with pytest.raises(WorkerCrashed):
        shared.ask(owner, [Prepare("import os; os.abort()", warmup_runs=1)])
    assert pid_of(shared, owner)


def test_a_process_has_one_session() -> None:
    assert process_session() is process_session()
