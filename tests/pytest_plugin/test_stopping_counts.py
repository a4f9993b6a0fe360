"""Counts of stopped tests: the same whatever the tests before did, and however long it took to get there."""

from __future__ import annotations

import signal
import textwrap
import time
from pathlib import Path

import pytest

from photometer.analysis.cause import are_identical
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.figures import exclusive_counts
from photometer.model.machine import Environment
from photometer.model.task import TaskSpec
from photometer.pytest_plugin import stopping
from photometer.pytest_plugin.stop_messages import SideSettings
from photometer.pytest_plugin.stopping_session import StoppingSession
from tests.waiting import wait_until

FILE = "test_counted.py"
# The second takes so long that instrumentation is turned off meanwhile.
TESTS = f"""
    import time
    import torch

    def test_first(photometer):
        photometer(torch.sin, torch.ones(8))

    def test_takes_long(photometer):
        began = time.process_time()
        while time.process_time() < began + {stopping.LONG_SECONDS} + 0.5:
            pass
        photometer(torch.sin, torch.ones(8))

    def test_third(photometer):
        photometer(torch.sin, torch.ones(8))
"""
NAMES = ("test_first", "test_takes_long", "test_third")


@pytest.mark.valgrind
@pytest.mark.slow
def test_a_count_does_not_depend_on_the_tests_before_it(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(textwrap.dedent(TESTS))
    tests = [f"{FILE}::{name}" for name in NAMES]
    settings = SideSettings(tests, str(tmp_path), ["-q", f"--rootdir={tmp_path}", str(tmp_path / FILE)])
    counted = []
    session = StoppingSession(Environment.current(importable=()), settings)
    with session:
        counter = InstructionCounter(session)
        for test in tests:
            session.move_to(test)
            stmt = session.stopped().stmt
            counted.append(counter.count(CountTask(TaskSpec(stmt, "pass"))))
            session.finish()
    first, *others = counted
    for other in others:
        assert are_identical(
            first.instruction_counts(),
            other.instruction_counts(),
            exclusive_counts(first.profiles[0]),
            exclusive_counts(other.profiles[0]),
        )
    assert first.instruction_counts().outside_allocator_per_run > 1000


def test_a_timer_turns_instrumentation_off_and_the_next_stop_on(monkeypatch: pytest.MonkeyPatch) -> None:
    switched: list[str] = []
    monkeypatch.setattr(stopping, "start_instrumentation", lambda: switched.append("on"))
    monkeypatch.setattr(stopping, "stop_instrumentation", lambda: switched.append("off"))
    monkeypatch.setattr(stopping, "LONG_SECONDS", 0.02)
    before = signal.getsignal(signal.SIGVTALRM)
    instrumentation = stopping.Instrumentation()
    try:
        for _ in range(2):
            with instrumentation.needed():
                _work_for(0.05)
        assert switched == ["on"], "it stays on between tests, and no timer runs while a test has stopped"

        def has_fired() -> bool:
            """The timer counts what the process computes, and not how long that takes."""
            _work_for(0.05)
            return len(switched) > 1

        wait_until(has_fired)
        assert switched == ["on", "off"]
        with instrumentation.needed():
            assert switched == ["on", "off", "on"]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def _work_for(seconds: float) -> None:
    """Use so much of the processor."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
