"""Children that are kept from one replicate to the next, on sessions without processes."""

from __future__ import annotations

import random

import pytest

from photometer.comparing.fork_sampler import REPLICATES_PER_LANE, Contestants, ForkSampler
from photometer.errors import WorkerCrashed
from photometer.instruments.open_forks import OpenForks
from photometer.instruments.replicate import Side, take_replicate
from photometer.session.session import ServerKind
from photometer.worker.messages import Prepare
from tests.session.fake_session import Behaviour, FakeServers

PREPARE = Prepare("y = x + 1", device="cuda", device_time=True)


def test_one_fork_serves_all_replicates_of_a_lane() -> None:
    servers = FakeServers()
    with servers.session() as session:
        sampler = ForkSampler([Contestants((Side(session, PREPARE), Side(session, PREPARE)))], core=0)
        for turn in range(REPLICATES_PER_LANE + 1):
            sampler.take(0, turn)
        forks = [server.forks for server in servers.made]
    # Two sides, two lanes.
    assert sum(forks) == 4
    prepared = [request for server in servers.made for request in server.log if isinstance(request, Prepare)]
    assert len(prepared) == 2 * (REPLICATES_PER_LANE + 1)
    assert all(server.closed for server in servers.made)


def test_the_host_gets_fresh_forks() -> None:
    servers = FakeServers()
    host = Prepare("y = x + 1")
    with servers.session() as session:
        sampler = ForkSampler([Contestants((Side(session, host), Side(session, host)))], core=0)
        for turn in range(3):
            sampler.take(0, turn)
    assert sum(server.forks for server in servers.made) == 6


def test_a_child_that_died_is_not_lent_again() -> None:
    servers = FakeServers({"fake": {"crash": Behaviour(dies=True)}})
    forks = OpenForks()
    with servers.session() as session:
        for stmt in ("crash", "y = x + 1"):
            sides = [Side(session, Prepare(stmt))] * 2

            def take(sides: list[Side] = sides) -> None:
                take_replicate(
                    sides, kind=ServerKind(), core=None, order=random.Random(0), seconds=0.001, lend=forks.children
                )

            if stmt == "crash":
                with pytest.raises(WorkerCrashed):
                    take()
            else:
                take()
    assert sum(server.forks for server in servers.made) == 4
