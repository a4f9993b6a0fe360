"""A side's pytest process: it stops where a test measures, serves forks there, and says what became of the test."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.analysis.failing_line import telling_lines
from photometer.errors import SnippetError, WorkerCrashed
from photometer.model.machine import Environment
from photometer.pytest_plugin.stop_messages import SideSettings
from photometer.pytest_plugin.stopping_session import NotReached, SidePolicy, StoppingSession
from photometer.session.layout import Layout
from photometer.session.policy import ENVIRONMENT_BYTES
from photometer.worker.messages import Prepare, Time

pytestmark = pytest.mark.lengthy

FILE = "test_stopped.py"
TESTS = """
    import os
    import pytest

    @pytest.fixture
    def seen():
        yield [1]
        print("torn down")

    def test_first(photometer, seen):
        assert photometer(seen.append, 2) is None
        assert seen == [1, 2], "the forks have left no trace"

    def test_skipped(photometer):
        pytest.skip("not here")

    def test_fails_before(photometer):
        assert 1 == 2

    def test_fails_after(benchmark):
        assert benchmark(max, 1, 2) == 3

    def test_pedantic(benchmark):
        made = []

        def setup():
            made.append([3, 1, 2])
            return (made[-1],), {}

        def target(numbers):
            assert numbers == [3, 1, 2]
            numbers.sort()

        benchmark.pedantic(target, setup=setup, rounds=3)
        assert len(made) == 1

    def test_raises(photometer):
        photometer(lambda: 1 / 0)

    def test_dies(photometer):
        photometer(lambda: os.abort())

    def test_after_it(photometer):
        photometer(max, 1, 2)

    def test_not_asked_for(photometer):
        raise AssertionError("nobody has asked for this test")
"""
NAMES = (
    "test_first",
    "test_skipped",
    "test_fails_before",
    "test_gone",
    "test_fails_after",
    "test_pedantic",
    "test_raises",
    "test_dies",
    "test_after_it",
)


def id_of(name: str) -> str:
    return f"{FILE}::{name}"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoppingSession]:
    folder = tmp_path_factory.mktemp("side")
    (folder / FILE).write_text(textwrap.dedent(TESTS))
    arguments = ["-q", "-x", f"--rootdir={folder}", str(folder / FILE)]
    settings = SideSettings([id_of(name) for name in NAMES], str(folder), arguments)
    opened = StoppingSession(Environment.current(importable=()), settings)
    with opened:
        yield opened


# The tests below go with one process from stop to stop, in this order.


def test_forks_find_the_fixtures_of_the_test_and_leave_no_trace(session: StoppingSession) -> None:
    session.move_to(id_of("test_first"))
    stopped = session.stopped()
    assert stopped.stmt == "photometer_function(photometer_arg_0)"
    for _ in range(2):
        with session.child() as child:
            child.ask(Prepare("assert len(photometer_function.__self__) == 1"))
            child.ask(Time(1))
            child.ask(Prepare(stopped.stmt))
            assert child.ask(Time(3)).seconds > 0
            child.ask(Prepare("assert len(photometer_function.__self__) == 4"))
            child.ask(Time(1))
    assert session.finish().outcome == "passed"


@pytest.mark.parametrize(
    ("name", "outcome", "said"),
    [
        ("test_skipped", "skipped", "not here"),
        ("test_fails_before", "failed", "assert 1 == 2"),
        ("test_gone", "missing", "no such test"),
    ],
)
def test_what_does_not_reach_its_benchmark_says_why(
    session: StoppingSession, name: str, outcome: str, said: str
) -> None:
    session.move_to(id_of(name))
    with pytest.raises(NotReached) as raised:
        session.stopped()
    assert raised.value.ended.outcome == outcome
    assert said in raised.value.ended.text


def test_what_fails_after_it_was_measured_is_told_at_its_end(session: StoppingSession) -> None:
    session.move_to(id_of("test_fails_after"))
    session.stopped()
    ended = session.finish()
    assert ended.outcome == "failed"
    assert "assert 2 == 3" in ended.text


def test_the_arguments_of_a_setup_are_made_before_each_block(session: StoppingSession) -> None:
    session.move_to(id_of("test_pedantic"))
    stmt = session.stopped().stmt
    with session.child() as child:
        child.ask(Prepare(stmt, warmup_runs=2))
        child.ask(Time(5))
    assert session.finish().outcome == "passed"


def test_an_error_of_what_is_measured_is_the_test_s_own(session: StoppingSession) -> None:
    session.move_to(id_of("test_raises"))
    stmt = session.stopped().stmt
    with session.child() as child, pytest.raises(SnippetError, match="ZeroDivisionError"):
        child.ask(Prepare(stmt, warmup_runs=1))
    assert session.finish().outcome == "failed"


def test_what_dies_on_the_way_to_a_test_is_no_failure_of_it(session: StoppingSession) -> None:
    # As the process that counts does, which has no work in tests that failed when they were checked.
    session.move_to(id_of("test_after_it"))
    assert session.stopped().stmt == "photometer_function(photometer_arg_0, photometer_arg_1)"
    assert session.finish().outcome == "passed"


def test_what_dies_by_itself_says_so_and_shows_where(session: StoppingSession) -> None:
    session.move_to(id_of("test_dies"))
    with pytest.raises(WorkerCrashed, match="SIGABRT") as raised, session.child() as child:
        child.ask(Prepare(session.stopped().stmt, warmup_runs=1))
    lines = telling_lines(raised.value.log or "", 3)
    assert lines[0] == "Fatal Python error: Aborted"
    assert f'{FILE}", line ' in lines[2]


def test_sides_have_the_user_s_variables_in_an_environment_of_fixed_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE", "there")
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    variables = SidePolicy().variables(Environment.current(), Layout(), under_valgrind=False)
    assert variables["DATABASE"] == "there"
    assert "PYTHONPATH" not in variables
    assert variables["PYTHONHASHSEED"] == "0"
    assert sum(len(f"{name}={value}".encode()) + 1 for name, value in variables.items()) % ENVIRONMENT_BYTES < 64
