"""Counts of a revision are kept, and found again only if nothing that they depend on has changed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from photometer.comparing import kept_counts
from photometer.comparing.counts import count_ready
from photometer.comparing.kept_counts import KeptCounts, SideCount
from photometer.definition import TimerArgs
from photometer.environments.resolved import ResolvedEnvironment
from photometer.environments.spec import parse_environment
from photometer.environments.worktree import Checkout
from photometer.instruments.callgrind.count_order import count_task_of
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.machine import Environment
from photometer.plan import materialize
from tests.session.fake_session import Behaviour, FakeServers

SIDES = {"base": {"good": Behaviour(instructions_per_run=7), "bad": Behaviour(raises="no")}}


def ready(*statements: str) -> list[ReadyOrder]:
    return [ReadyOrder(order) for order in materialize({stmt: TimerArgs(stmt) for stmt in statements})]


def count(servers: FakeServers, kept: KeptCounts, *statements: str) -> list[object]:
    with servers.session(Environment("base")) as session:
        counter = InstructionCounter(session)
        return [count_ready(counter, each, kept) for each in ready(*statements)]


def test_what_was_counted_is_not_counted_again(servers: FakeServers, tmp_path: Path) -> None:
    first = count(servers, KeptCounts("side", tmp_path / "counts"), "good", "bad")
    forks = sum(server.forks for server in servers.made)
    again = count(servers, KeptCounts("side", tmp_path / "counts"), "good")
    assert sum(server.forks for server in servers.made) == forks
    assert isinstance(again[0], SideCount)
    assert again[0] == first[0]
    # An error is not kept: it may be the machine's.
    assert not isinstance(first[1], SideCount)
    assert kept_counts.usage(tmp_path / "counts").counts == 1


def test_another_side_or_another_statement_is_counted(servers: FakeServers, tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    count(servers, KeptCounts("side", folder), "good")
    (order,) = materialize({"good": TimerArgs("good")})
    other = dataclasses.replace(order, args=dataclasses.replace(order.args, setup="y = 2"))
    task = count_task_of(ReadyOrder(order))
    assert KeptCounts("side", folder).find(ReadyOrder(order), task) is not None
    assert KeptCounts("side", folder).find(ReadyOrder(other), task) is None
    assert KeptCounts("other side", folder).find(ReadyOrder(order), task) is None
    assert KeptCounts("side", folder).has_all([order])
    assert not KeptCounts("side", folder).has_all([order, other])
    assert not KeptCounts(None, folder).has_all([])


def test_a_file_that_cannot_be_read_is_as_good_as_none(servers: FakeServers, tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    count(servers, KeptCounts("side", folder), "good")
    (file,) = folder.glob("*.json")
    (order,) = ready("good")
    for text in ("{", "[]", '{"counts": {}, "functions": {}, "stacks": []}'):
        file.write_text(text)
        assert KeptCounts("side", folder).find(order, count_task_of(order)) is None


def test_the_oldest_go_first(servers: FakeServers, tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    count(servers, KeptCounts("side", folder), "good")
    (file,) = folder.glob("*.json")
    old = folder / f"{'0' * 40}.json"
    old.write_text("x" * 1000)
    import os

    os.utime(old, (1, 1))
    kept_counts.prune(folder, most_bytes=file.stat().st_size)
    assert [path.name for path in folder.iterdir() if path.suffix == ".json"] == [file.name]
    assert kept_counts.clear(folder).counts == 1
    assert kept_counts.usage(folder).counts == 0


def test_only_revisions_are_kept(tmp_path: Path) -> None:
    def resolved(checkout: Checkout | None) -> ResolvedEnvironment:
        return ResolvedEnvironment(parse_environment("current"), Environment.current(), checkout)

    revision = Checkout(tmp_path, "c0ffee" * 6)
    changed = Checkout(tmp_path, "c0ffee" * 6, is_changed=True, tree_digest="1234")
    assert KeptCounts.of(resolved(revision)).is_kept
    assert not KeptCounts.of(resolved(changed)).is_kept
    assert not KeptCounts.of(resolved(None)).is_kept
    assert not KeptCounts.of(None).is_kept
