from __future__ import annotations

import json
from typing import Any

import pytest

from photometer.errors import MeasurementError, ResultsFileError
from photometer.model.function_counts import FunctionCount
from photometer.model.instruction_counts import (
    InstructionCounts,
    InstructionFigures,
    RepeatDifference,
    stable_repeat_of,
)
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec

TASK = TaskSpec("y = x * w", "x = w = 1", label="product")


def example(**changes: Any) -> InstructionCounts:
    values: dict[str, Any] = {
        "task_spec": TASK,
        "number_per_run": 100,
        "repeats": (
            InstructionFigures(1237, 1020, 12),
            InstructionFigures(1200, 1000, 12),
            InstructionFigures(1200, 1000, 12),
        ),
        "loop_baseline": InstructionFigures(200, 150, 2),
        "top_functions": (FunctionCount(700, "a.c:f [/lib/a.so]"),),
        "differences": (
            RepeatDifference(0, 37, tuple(FunctionCount(n, f"f{n}") for n in (30, -20, 15, 9, 3))),
            RepeatDifference(2, -1, ()),
        ),
        "events": {"Ir": 1200, "Bcm": 7},
    }
    return InstructionCounts(**{**values, **changes})


@pytest.mark.parametrize(
    ("totals", "repeat"),
    [([5], 0), ([9, 5, 5], 2), ([5, 5, 9], 1), ([5, 9, 5, 9], 3), ([1, 2, 3], 2), ([7, 7, 7], 2)],
)
def test_the_stable_repeat_is_the_last_of_the_most_frequent_total(totals: list[int], repeat: int) -> None:
    assert stable_repeat_of(totals) == repeat


def test_figures_per_run_are_without_the_loop() -> None:
    counts = example()
    assert counts.stable == InstructionFigures(1200, 1000, 12)
    assert (counts.totals, counts.outside_allocator) == ((1237, 1200, 1200), (1020, 1000, 1000))
    assert counts.allocator_calls == (12, 12, 12)
    assert counts.instructions_per_run == 10.0
    assert counts.outside_allocator_per_run == 8.5
    assert counts.allocator_calls_per_run == 0.1
    assert example(loop_baseline=None).instructions_per_run == 12.0


def test_exactness_and_the_reasons_of_repeats_that_differ() -> None:
    assert not example().is_exact
    assert example(repeats=(InstructionFigures(1, 1, 0),) * 3).is_exact
    first, third = example().difference_reasons
    assert first == "repeat 1 executed 37 instructions more: +30 f30, -20 f-20, +15 f15, 2 more functions"
    assert third == "repeat 3 executed 1 instruction fewer"


def test_repr_is_one_short_line() -> None:
    assert repr(example()) == (
        "<photometer.InstructionCounts 8.5 per run, 10.0 with the allocator; 3 repeats, not all equal>"
    )


def test_printing_tells_the_figures_and_what_is_wrong_with_them() -> None:
    shown = str(example(frozen_layout=False, reasons=("personality was refused",)))
    for part in (
        "product",
        "8.5 instructions per run outside the allocator, without the loop",
        "10.0 with the allocator's own",
        "not all equal",
    ):
        assert part in shown
    assert "not frozen: personality was refused" in shown
    assert "not frozen" not in str(example())


@pytest.mark.parametrize(
    "changes", [{"number_per_run": 0}, {"repeats": ()}, {"frozen_layout": False}], ids=["runs", "repeats", "no reason"]
)
def test_counts_that_cannot_be(changes: dict[str, Any]) -> None:
    with pytest.raises(MeasurementError):
        example(**changes)


def test_json_there_and_back() -> None:
    counts = example(frozen_layout=False, reasons=("personality was refused",))
    assert from_record(InstructionCounts, json.loads(json.dumps(to_record(counts)))) == counts
    assert to_record(counts)["kind"] == "instruction_counts"
    assert from_record(InstructionCounts, to_record(example(loop_baseline=None))).loop_baseline is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("task_spec", None),
        ("task_spec", {}),
        ("number_per_run", "100"),
        ("number_per_run", True),
        ("number_per_run", 0),
        ("repeats", None),
        ("repeats", []),
        ("repeats", [1]),
        ("repeats", [{"total": 1, "outside_allocator": 1.5, "allocator_calls": 0}]),
        ("repeats", [{"total": 1}]),
        ("loop_baseline", 3),
        ("top_functions", [[1, 2]]),
        ("top_functions", [["1", "f"]]),
        ("top_functions", {}),
        ("differences", [3]),
        ("differences", [{"repeat": 0, "instructions": "many", "functions": []}]),
        ("events", [1]),
        ("events", {"Ir": "x"}),
        ("frozen_layout", 1),
        ("reasons", [1]),
        ("reasons", "because"),
    ],
)
def test_a_damaged_record_is_refused(field: str, value: object) -> None:
    record = to_record(example())
    record[field] = value
    with pytest.raises(ResultsFileError):
        from_record(InstructionCounts, record)


def test_it_can_be_a_key() -> None:
    assert len({example(), example()}) == 1
