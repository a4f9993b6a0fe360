"""Commits over nodes: each is measured once, and goes on elsewhere if its node is lost."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from photometer.errors import NodesGone, WorkerStartError
from photometer.execution.scheduler import MOST_LOSSES
from photometer.remote.commits import over_nodes

SHAS = [f"{number:040x}" for number in range(30)]


class FakeLane:
    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> FakeLane:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class FakeNodes:
    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.opened: Counter[str] = Counter()

    def lane(self, name: str) -> Any:
        self.opened[name] += 1
        return FakeLane(name)


def test_every_commit_is_measured_once() -> None:
    nodes: Any = FakeNodes("a", "b", "c")
    found = list(over_nodes(nodes, SHAS, lambda lane, sha: sha.upper()))
    assert sorted(each.sha for each in found) == SHAS
    assert all(each.outcome == each.sha.upper() for each in found)


def test_a_lost_nodes_commit_is_measured_by_another() -> None:
    nodes: Any = FakeNodes("a", "b")
    lock, done = threading.Lock(), Counter[str]()

    def measure(lane: Any, sha: str) -> str:
        if lane.name == "b":
            raise NodesGone("no node is left")
        with lock:
            done[sha] += 1
        return lane.name

    found = list(over_nodes(nodes, SHAS, measure))
    assert {each.outcome for each in found} == {"a"}
    assert done == Counter(SHAS)
    assert nodes.opened["b"] <= 1 + MOST_LOSSES


def test_what_no_node_could_measure_is_said() -> None:
    def measure(lane: Any, sha: str) -> str:
        raise NodesGone("no node is left")

    nodes: Any = FakeNodes("a")
    found = list(over_nodes(nodes, SHAS[:5], measure))
    assert sorted(each.sha for each in found) == SHAS[:5]
    assert all(isinstance(each.error, NodesGone) for each in found)
    assert nodes.opened["a"] == 1 + MOST_LOSSES


def test_what_is_wrong_with_all_nodes_is_raised() -> None:
    def measure(lane: Any, sha: str) -> str:
        raise WorkerStartError("no torch there")

    nodes: Any = FakeNodes("a", "b")
    with pytest.raises(WorkerStartError, match="no torch there"):
        list(over_nodes(nodes, SHAS, measure))
