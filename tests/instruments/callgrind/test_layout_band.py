"""The layout band: every task under every layout, and layouts that can be drawn again."""

from __future__ import annotations

import pytest

from photometer.errors import SnippetError
from photometer.instruments.callgrind import layout_band as module
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.layout_band import layout_bands
from photometer.model.instruction_counts import InstructionCounts, InstructionFigures
from photometer.model.task import TaskSpec
from photometer.session.layout import Layout, random_layouts

TASKS = [CountTask(TaskSpec(stmt, "pass")) for stmt in ("a", "b")]


class FakeCounter:
    open_now = 0

    def __init__(self, _: object, *, layout: Layout) -> None:
        self.layout = layout
        FakeCounter.open_now += 1

    def count(self, task: CountTask) -> FakeCounted:
        if task.task_spec.stmt == "fails":
            raise SnippetError("no")
        figures = InstructionFigures(1000 + self.layout.padding_bytes, 900, 5 + self.layout.hash_seed)
        return FakeCounted(InstructionCounts(task.task_spec, 100, (figures,)))

    def close(self) -> None:
        FakeCounter.open_now -= 1


class FakeCounted:
    def __init__(self, counts: InstructionCounts) -> None:
        self.counts = counts

    def instruction_counts(self) -> InstructionCounts:
        return self.counts


@pytest.fixture(autouse=True)
def _fake_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "InstructionCounter", FakeCounter)


def test_a_band_for_each_task_with_a_count_for_each_layout() -> None:
    bands = layout_bands(TASKS, [Layout(0, 0), Layout(1, 20)])
    assert [band.task_spec.stmt for band in bands] == ["a", "b"]
    assert [(c.hash_seed, c.padding_bytes, c.figures.total) for c in bands[0].counts] == [(0, 0, 1000), (1, 20, 1020)]
    assert bands[0].total_spread == pytest.approx(0.02)
    assert bands[0].outside_allocator_spread == 0.0
    assert bands[0].allocator_calls_spread == pytest.approx(0.2)
    assert "2.000%" in repr(bands[0])
    assert FakeCounter.open_now == 0


def test_a_failing_task_is_raised() -> None:
    with pytest.raises(SnippetError):
        layout_bands([CountTask(TaskSpec("fails", "pass"))])


def test_random_layouts_are_the_same_for_the_same_seed() -> None:
    assert random_layouts(5, 3) == random_layouts(5, 3)
    assert len(set(random_layouts(20))) == 20
    assert random_layouts(5, 3) != random_layouts(5, 4)
