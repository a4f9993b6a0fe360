from __future__ import annotations

import pytest

from photometer.errors import MeasurementError
from photometer.instruments.callgrind.figures import figures_of, instruction_counts
from photometer.instruments.callgrind.parser import parse_profile
from photometer.model.function_counts import FunctionCount
from photometer.model.instruction_counts import InstructionFigures
from photometer.model.task import TaskSpec
from tests.instruments.callgrind import GOLDEN
from tests.instruments.callgrind.test_allocator import profile_of

TASK = TaskSpec("f()", "pass")


def test_the_three_figures_of_a_dump() -> None:
    assert figures_of(parse_profile(GOLDEN / "plain.out")) == InstructionFigures(11471, 1675, 60)


def test_repeats_that_agree_are_exact_and_have_no_differences() -> None:
    profile = parse_profile(GOLDEN / "plain.out")
    counts = instruction_counts(TASK, 100, [profile, profile])
    assert counts.is_exact
    assert counts.differences == ()
    assert counts.events == {"Ir": 11471}
    assert counts.top_functions[0].count == 2556


def test_a_repeat_that_differs_is_explained_by_its_functions() -> None:
    settled = profile_of({"f": 1000, "free": 50}, [("f", "free", 2, 50)])
    first = profile_of({"f": 1010, "free": 20, "resize": 7}, [("f", "free", 2, 20)])
    counts = instruction_counts(TASK, 1, [first, settled, settled])
    assert counts.stable == InstructionFigures(1050, 1000, 2)
    (difference,) = counts.differences
    assert (difference.repeat, difference.instructions) == (0, -13)
    assert difference.functions == (
        FunctionCount(-30, "free"),
        FunctionCount(10, "f"),
        FunctionCount(7, "resize"),
    )


def test_no_repeats_at_all_is_an_error() -> None:
    with pytest.raises(MeasurementError, match="at least one repeat"):
        instruction_counts(TASK, 1, [])
