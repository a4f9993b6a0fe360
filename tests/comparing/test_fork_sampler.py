"""Replicates in forks: on a device as graphs, unless a side's statement cannot be captured."""

from __future__ import annotations

import pytest

from photometer.comparing.fork_sampler import ForkSampler
from photometer.errors import SnippetError
from photometer.instruments import replicate
from photometer.instruments.contest import Contestants
from photometer.instruments.replicate import Side
from photometer.session.session import COMPILING, compiling
from photometer.worker.messages import Prepare
from tests.session.fake_session import Behaviour, FakeServers


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicate, "DEVICE_REPLICATE_SECONDS", 0.01)
    monkeypatch.setattr("photometer.instruments.contest.DEVICE_REPLICATE_SECONDS", 0.01)


def graphs_asked_for(behaviours: dict[str, Behaviour], *, device_time: bool = True, replicates: int = 2) -> list[bool]:
    """Take replicates of two statements; return for each preparation whether its blocks were to be graphs."""
    servers = FakeServers({"fake": behaviours})
    with servers.session() as session:
        sides = tuple(Side(session, Prepare(stmt, device_time=device_time)) for stmt in ("a", "b"))
        sampler = ForkSampler([Contestants(sides)], core=0, seconds=0.01)
        for turn in range(replicates):
            sampler.sample(0, turn)
        asked = [each for server in servers.made for each in server.log]
    return [each.by_graph for each in asked if isinstance(each, Prepare)]


def test_blocks_on_a_device_are_graphs() -> None:
    assert graphs_asked_for({}) == [True] * 4


def test_a_side_that_cannot_be_captured_keeps_the_other_from_it_in_all_replicates() -> None:
    asked = graphs_asked_for({"b": Behaviour(graphs=False)}, replicates=3)
    assert sorted(asked) == [False] * 6 + [True] * 2


def test_blocks_on_the_host_are_no_graphs() -> None:
    assert graphs_asked_for({}, device_time=False) == [False] * 4


def test_what_fails_in_any_case_is_said_as_it_is() -> None:
    with pytest.raises(SnippetError, match="no such name"):
        graphs_asked_for({"b": Behaviour(raises="no such name")})


@pytest.mark.parametrize(("device", "preload"), [("", COMPILING.imports), ("cuda", compiling("cuda").imports)])
def test_compiled_sides_are_forks_of_servers_that_have_imported_the_compiler(
    device: str, preload: tuple[str, ...]
) -> None:
    servers = FakeServers()
    with servers.session() as session:
        prepare = Prepare("a", device=device, device_time=bool(device), compile_cache="of a")
        ForkSampler([Contestants((Side(session, prepare),) * 2)], core=0, seconds=0.01).sample(0, 0)
    assert {server.launch.imports for server in servers.made} == {preload}
