"""How many runs are counted of a statement that is slow under Valgrind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from photometer.definition import TimerArgs
from photometer.errors import WorkerTimeout
from photometer.instruments.callgrind.count_order import count_order
from photometer.instruments.callgrind.count_task import CountedTask, CountTask
from photometer.instruments.callgrind.parser import parse_text
from photometer.instruments.declaration import Asked
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.task import TaskSpec
from photometer.plan import materialize
from photometer.session.session import Counting
from tests.session.fake_session import FakeServers

HEAD = "version: 1\ncreator: callgrind\npid: 1\ncmd: x\npart: 1\npositions: line\nevents: Ir\n\n"
TEXT = HEAD + "fn=(1) f\n1 5000\n\ntotals: 5000\n"


@pytest.mark.parametrize(
    ("seconds", "numbers"),
    [(None, [100, 10, 1]), (1e-6, [100, 10, 1]), (0.01, [10, 1]), (0.2, [1]), (60.0, [1])],
)
def test_fewer_runs_for_slower_statements(seconds: float | None, numbers: list[int]) -> None:
    tasks = CountTask(TaskSpec("f()", "pass"), timeout_seconds=120.0).fitting(seconds)
    assert [task.number for task in tasks] == numbers
    assert all(task.warmup_runs <= max(task.number, 1) for task in tasks)


class SlowCounter:
    """Counts only so many runs within the limit."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.tried: list[int] = []

    def count(self, task: CountTask, *, cores: Sequence[int] = (), python_frames: bool = False) -> CountedTask:
        self.tried.append(task.number)
        if task.number > self.most:
            raise WorkerTimeout("not finished within 120 s")
        profile = parse_text(TEXT, source="test")
        return CountedTask(task, (profile,) * task.repeats, parse_text(TEXT.replace("5000", "0"), source="test"))


def record(counter: SlowCounter, seconds: float | None) -> dict[str, Any]:
    (order,) = materialize({"slow": TimerArgs("f()")})
    with FakeServers().session() as session:
        session.remembered[Counting(), False] = counter
        return count_order(session, Asked(ReadyOrder(order), repeats=1, seconds_per_run=seconds))


def test_a_count_that_outruns_the_limit_is_taken_with_fewer_runs() -> None:
    counter = SlowCounter(most=10)
    counted = record(counter, None)
    assert counter.tried == [100, 10]
    assert counted["number_per_run"] == 10
    assert "slow under Valgrind" in counted["reasons"][0]


def test_what_is_known_to_be_slow_is_not_tried_in_vain() -> None:
    counter = SlowCounter(most=1)
    assert record(counter, 0.2)["number_per_run"] == 1
    assert counter.tried == [1]


def test_a_statement_that_never_ends_fails() -> None:
    with pytest.raises(WorkerTimeout):
        record(SlowCounter(most=0), None)
