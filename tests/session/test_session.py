"""A session lends, keeps and ends servers, by kind; fake servers, so nothing is started."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from photometer.errors import WorkerCrashed, WorkerStartError
from photometer.model.machine import Environment
from photometer.session.layout import Layout
from photometer.session.policy import WITHOUT_AVX512, Policy
from photometer.session.session import Counting, ServerKind, Session
from photometer.session.zygote import Launch
from photometer.worker.messages import Prepare
from tests.session.fake_session import FACTS, Behaviour, FakeServer, FakeServers
from tests.waiting import PATIENCE_SECONDS


def test_a_server_is_used_again_by_its_own_kind_only() -> None:
    servers = FakeServers()
    with servers.session() as session:
        with session.server(ServerKind(lane=1)) as first, session.server(ServerKind(lane=1)) as second:
            assert first is not second
        with session.server(ServerKind(lane=1)) as again:
            assert again in (first, second)
        with session.server(ServerKind(lane=2)) as other:
            assert other not in (first, second)
    assert len(servers.made) == 3
    assert all(server.closed for server in servers.made)


def test_several_cores_want_a_server_that_has_seen_them() -> None:
    servers = FakeServers()
    with servers.session() as session:
        for cores in ((), (0,), (0, 1)):
            with session.server(cores=cores):
                pass
    assert len(servers.made) == 2


def test_one_that_died_is_closed_and_not_lent_again() -> None:
    servers = FakeServers({"fake": {"die": Behaviour(dies=True)}})
    with servers.session() as session:
        with pytest.raises(WorkerCrashed), session.child() as child:
            child.ask(Prepare("die"))
        assert servers.made[0].closed
        with session.server() as second:
            pass
        servers.made[1].alive = False
        with session.server() as third:
            assert third is not second
    assert all(server.closed for server in servers.made)


def test_kill_reaches_those_that_are_lent_and_those_that_start() -> None:
    begun, go_on = threading.Event(), threading.Event()
    made: list[FakeServer] = []

    class SlowServer(FakeServer):
        def wait_until_ready(self, start_seconds: float = 0.0) -> None:
            begun.set()
            go_on.wait(PATIENCE_SECONDS)
            super().wait_until_ready()

    def start(launch: Launch) -> FakeServer:
        made.append(SlowServer(launch))
        return made[-1]

    session = Session(Environment("fake"), start=start)

    def borrow() -> None:
        with session.server():
            pass

    thread = threading.Thread(target=borrow)
    thread.start()
    assert begun.wait(PATIENCE_SECONDS)
    session.kill()
    assert not made[0].alive
    go_on.set()
    thread.join(PATIENCE_SECONDS)
    assert made[0].closed


def test_servers_started_ahead_are_waiting() -> None:
    servers = FakeServers()
    with servers.session() as session:
        session.start_ahead([ServerKind(lane=0), ServerKind(lane=1)])
        session.start_ahead([ServerKind(lane=0)])
        assert [server.greeting for server in servers.made] == [None, None]
        with session.server(ServerKind(lane=1)):
            pass
        assert [server.greeting is None for server in servers.made] == [True, False]
    assert all(server.closed for server in servers.made)


def test_a_server_that_does_not_start_is_closed_and_the_error_raised() -> None:
    servers = FakeServers()
    servers.fails["fake"] = WorkerStartError("no torch there")
    with servers.session() as session, pytest.raises(WorkerStartError):
        session.facts()
    assert all(server.closed for server in servers.made)


def test_a_kind_that_is_dropped_is_ended_whatever_cores_it_had() -> None:
    servers = FakeServers()
    with servers.session() as session:
        layout = Layout(3, 4)
        for cores in ((), (0, 1)):
            with session.server(ServerKind(layout), cores):
                pass
        with session.server():
            pass
        session.drop(ServerKind(layout))
        assert [server.closed for server in servers.made] == [True, True, False]


def test_facts_are_asked_once() -> None:
    servers = FakeServers()
    with servers.session() as session:
        assert session.facts() is session.facts() is FACTS
    assert servers.made[0].forks == 1


def test_environment_is_built_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMETHING_OF_THE_USERS", "1")
    environment = Environment("python", variables=(("MINE", "x"), ("OMP_WAIT_POLICY", "active")))
    variables = Policy().variables(environment, Layout(hash_seed=7, padding_bytes=3), under_valgrind=False)
    assert "SOMETHING_OF_THE_USERS" not in variables
    assert variables["PYTHONHASHSEED"] == "7"
    assert variables["MINE"] == "x"
    # What an environment sets itself has the last word.
    assert variables["OMP_WAIT_POLICY"] == "active"


def test_threads_spin_only_if_nothing_is_beside_them() -> None:
    plain = Environment("python")

    def spins(environment: Environment, *, spins: bool, under_valgrind: bool = False) -> bool:
        variables = Policy().variables(environment, Layout(), under_valgrind=under_valgrind, spins=spins)
        return "GOMP_SPINCOUNT" in variables

    assert spins(plain, spins=True)
    assert not spins(plain, spins=False)
    assert not spins(plain, spins=True, under_valgrind=True)
    assert not spins(Environment("python", variables=(("OMP_WAIT_POLICY", "passive"),)), spins=True)


def test_environment_has_the_same_size_whatever_the_user_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def size(layout: Layout, path: str) -> int:
        monkeypatch.setenv("PATH", path)
        variables = Policy().variables(Environment("python"), layout, under_valgrind=True)
        return len("".join(f"{name}={value}" for name, value in variables.items()))

    assert size(Layout(), "/bin") == size(Layout(), "/bin:/somewhere/else")
    assert size(Layout(padding_bytes=3), "/bin") == size(Layout(), "/bin") + 3


def test_pythonpath_comes_after_the_environments_own_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/one", "", "/two"]))
    assert Policy().search_path(Environment("python", ("/two", "/mine"))) == ("/two", "/mine", "/one")
    assert Policy(passes_python_path=False).search_path(Environment("python")) == ()


def test_every_kind_of_server_is_launched_by_the_same_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.session.session.find_valgrind", lambda: _FakeValgrind())
    session = FakeServers().session()
    timing, counting = session.launch(ServerKind()), session.launch(ServerKind(counting=Counting()))
    assert timing.wrapper == ()
    assert counting.wrapper == ("valgrind",)
    assert timing.small_pages
    assert counting.small_pages
    assert timing.search_path == counting.search_path
    # Besides what Valgrind cannot imitate, and the padding that hides the difference, nothing differs.
    ours, theirs = dict(timing.variables), dict(counting.variables)
    different = {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}
    assert different <= {"PHOTOMETER_PADDING", *WITHOUT_AVX512}


class _FakeValgrind:
    path = Path("/usr/bin/valgrind")

    def callgrind_command(self, program: list[str], **_: object) -> list[str]:
        return ["valgrind", *program]


def test_a_child_sees_only_the_accelerators_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """There need not be any: the variable shows it."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-abc")
    setup = "import os; assert os.environ['CUDA_VISIBLE_DEVICES'] == 'GPU-abc', os.environ['CUDA_VISIBLE_DEVICES']"
    prepare = Prepare(setup=setup, device="cuda", visible_devices=(1,))
    with Session() as session, session.child() as child:
        child.ask(prepare)
        # Once: what is left is numbered anew.
        child.ask(prepare)
