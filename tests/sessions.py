"""Sessions for tests of what is measured in them and not of how they start: with real servers, or with fakes.

Tests that are marked `warm` find the servers of those before them, as commands in a terminal do, also if another worker
of this test run has started them: torch is imported once under Valgrind, and not by each of them. All of them end with
the test run. Servers are found by their PATH, too, so it is the same for all: the scripts of this interpreter first, as
in an environment that is activated.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from photometer.session.session import Session
from photometer.session.warm import VARIABLE, WarmFolder
from tests.session.fake_session import FakeServers

# Set by the process that starts the workers, which inherit it.
RUNTIME = "PHOTOMETER_TEST_RUNTIME"
# One folder keeps a few servers. Those under Valgrind take ten times as long to start, and would make room for the many
# of tests that only time.
COUNTING, TIMING = WARM_FOLDERS = ("counting", "timing")
KEEP_SECONDS = "600"
FAKE_REPLICATE_SECONDS = 0.01


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.environ[RUNTIME] = tempfile.mkdtemp(prefix="photometer-tests-")
        for folder in WARM_FOLDERS:
            (Path(os.environ[RUNTIME]) / folder).mkdir()
        scripts, path = str(Path(sys.executable).parent), os.environ["PATH"]
        if path.split(os.pathsep)[0] != scripts:
            os.environ["PATH"] = scripts + os.pathsep + path


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        runtime = Path(os.environ.pop(RUNTIME))
        for folder in WARM_FOLDERS:
            WarmFolder(0.0, runtime / folder / "photometer").clear()
        shutil.rmtree(runtime, ignore_errors=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test that is marked so find warm servers, its fixtures too, and leave some."""
    if item.get_closest_marker("warm") is None:
        return (yield)
    with pytest.MonkeyPatch.context() as variables:
        folder = COUNTING if item.get_closest_marker("valgrind") else TIMING
        variables.setenv("XDG_RUNTIME_DIR", str(Path(os.environ[RUNTIME]) / folder))
        variables.setenv(VARIABLE, KEEP_SECONDS)
        return (yield)


@pytest.fixture(scope="session")
def run_folder() -> Path:
    """A folder that all workers of this test run share."""
    return Path(os.environ[RUNTIME])


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """A session of this interpreter; every test gets children of its own from it."""
    with Session() as opened:
        yield opened


@pytest.fixture
def fake_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let comparisons work with sessions of FakeServers: without Valgrind, interpreters, or waiting for anything."""
    from photometer.comparing.fork_sampler import ForkSampler
    from photometer.instruments.replicate import alternate

    monkeypatch.setattr("photometer.session.session._callgrind", lambda counting: ("valgrind",))
    monkeypatch.setattr("photometer.instruments.noise_watch.LOOK_SECONDS", 0.01)
    # Other tests run beside this one: nobody waits for them to end.
    monkeypatch.setattr("photometer.instruments.noise_watch.NoiseWatch.wait_for_quiet", lambda watch: 0.0)
    # The fakes need no time: many short replicates are decided on a busy machine, too. Their time is that of a clock
    # which nothing but a look at it advances, so a machine that stands still for a moment spends no budget.
    ticks = itertools.count()
    monkeypatch.setitem(_defaults_of(alternate), "clock", lambda: next(ticks) * FAKE_REPLICATE_SECONDS / 10)
    monkeypatch.setattr("photometer.instruments.contest.MOST_REPLICATE_SECONDS", FAKE_REPLICATE_SECONDS)
    monkeypatch.setattr("photometer.comparing.decide.REPLICATE_SECONDS", FAKE_REPLICATE_SECONDS)
    monkeypatch.setitem(_defaults_of(ForkSampler.__init__), "seconds", FAKE_REPLICATE_SECONDS)
    # The interpreters are fakes, too.
    monkeypatch.setattr("photometer.environments.resolved._interpreter", lambda spec, is_base: None)


def _defaults_of(function: Any) -> dict[str, object]:
    defaults = function.__kwdefaults__
    assert isinstance(defaults, dict)
    return defaults


@pytest.fixture
def servers(request: pytest.FixtureRequest, fake_processes: None) -> FakeServers:
    """Fakes for the sides of a comparison: what statements do on each is `SIDES` of the test's module."""
    return FakeServers(request.module.SIDES)
