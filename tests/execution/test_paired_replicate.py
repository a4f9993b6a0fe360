"""One replicate of a pair: which servers, which cores, and what happens when a server dies."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from photometer.definition.timer_args import TimerArgs
from photometer.errors import WorkerCrashed
from photometer.execution import paired_replicate
from photometer.execution.comparison_run import PairedOrder
from photometer.execution.duet_run import REPLICATES_PER_PAIR
from photometer.execution.paired_replicate import ReplicateTaker, neighbours
from photometer.instruments.duet import Replicate, Side
from photometer.plan import materialize

TAKEN = Replicate((1e-6,) * 6, (2e-6,) * 6, 500, 0.15, 0.2)


class FakeServer:
    alive = True


class FakeDuet:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[dict[str, Any]] = []
        self.pairs: list[int] = []
        self.server = FakeServer()
        self.closed = False

    def replicate(self, base: dict[str, Any], branch: dict[str, Any], **fields: Any) -> Replicate:
        self.asked.append(fields)
        if self.error is not None:
            raise self.error
        return TAKEN

    def servers(self, pair: int = 0) -> tuple[FakeServer, FakeServer]:
        self.pairs.append(pair)
        return self.server, self.server

    def close(self) -> None:
        self.closed = True


def pair(threads: int = 1) -> PairedOrder:
    (order,) = materialize({"a": TimerArgs("1", num_threads=threads)}).orders
    return PairedOrder(order, {"stmt": "1"}, {"stmt": "1"})


def taker(duet: FakeDuet) -> ReplicateTaker:
    return ReplicateTaker(duet, random.Random(0), None, layout=3)  # type: ignore[arg-type]


def test_one_thread_runs_where_the_duet_says() -> None:
    duet = FakeDuet()
    one = pair()
    replicate = taker(duet)(one, 5)
    assert duet.asked[0]["turn"] == 5
    assert duet.asked[0]["timeout_seconds"] == one.order.timeout_seconds
    assert (replicate.order_id, replicate.layout) == (one.order.id, 3)
    assert replicate.branch_block_nanoseconds == (1_000_000,) * 6


def test_several_threads_get_as_many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    sides: list[Side] = []

    def take(base: Side, branch: Side, **fields: Any) -> Replicate:
        sides.extend((base, branch))
        assert fields["core"] is None
        return TAKEN

    monkeypatch.setattr(paired_replicate, "take_replicate", take)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    duet = FakeDuet()
    taker(duet)(pair(threads=2), REPLICATES_PER_PAIR)
    assert duet.pairs == [1]
    assert [len(side.prepare["cpus"]) for side in sides] == [2, 2]
    assert sides[0].prepare["cpus"] == sides[1].prepare["cpus"]


def test_neighbours_begin_at_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert neighbours(2, 2) == [2, 3]
    assert neighbours(3, 2) == [0, 3]
    assert neighbours(None, 1) == [0]
    assert neighbours(9, 8) == [0, 1, 2, 3]


@pytest.mark.parametrize("alive", [True, False])
def test_dead_servers_are_started_anew(alive: bool) -> None:
    duet = FakeDuet(WorkerCrashed("gone"))
    duet.server.alive = alive
    with pytest.raises(WorkerCrashed):
        taker(duet)(pair(), 0)
    assert duet.closed is not alive
