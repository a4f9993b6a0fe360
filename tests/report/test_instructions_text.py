"""Instruction counts as text."""

from __future__ import annotations

from photometer.model.function_counts import FunctionCount, FunctionCounts
from photometer.model.instruction_counts import InstructionCounts, InstructionFigures, RepeatDifference
from photometer.model.task import TaskSpec
from photometer.report.instructions_text import (
    SHOWN_FUNCTIONS,
    render_counts,
    render_difference,
    render_top_functions,
)


def counts(stmt: str, total: int, **more: object) -> InstructionCounts:
    figures = InstructionFigures(total, total - 500, 300)
    loop = InstructionFigures(1000, 900, 100)
    return InstructionCounts(TaskSpec(stmt, "pass"), 100, (figures,), loop, **more)  # type: ignore[arg-type]


def functions(**rows: int) -> FunctionCounts:
    return FunctionCounts.from_mapping(rows, inclusive=False)


def test_three_figures_per_statement_without_the_loop() -> None:
    lines = render_counts([counts("x + 1", 11_000), counts("x + 1; x is x", 18_000)]).splitlines()
    assert lines[0].split() == ["per", "run", "of", "instructions", "with", "allocator", "allocator", "calls"]
    assert lines[1].split()[-3:] == ["96.00", "100.00", "2.00"]
    assert lines[2].split()[-3:] == ["166.00", "170.00", "2.00"]
    assert len({len(line) for line in lines[:3]}) == 1


def test_reasons_are_named() -> None:
    difference = RepeatDifference(0, 12, (FunctionCount(12, "gc_collect"),))
    text = render_counts([counts("a", 5000, differences=(difference,), frozen_layout=False, reasons=("filtered",))])
    assert "repeat 1 executed 12 instructions more: +12 gc_collect" in text
    assert "not frozen: filtered" in text


def test_escapes_and_long_names_cannot_break_the_table() -> None:
    text = render_counts([counts("x = '\x1b[31m'; " + "y + " * 100 + "1", 5000)], width=80)
    assert "\x1b" not in text
    assert all(len(line) <= 80 for line in text.splitlines()[:2])


def test_top_functions_with_their_share() -> None:
    text = render_top_functions(functions(malloc=300, work=700), 100).splitlines()
    assert text[1].split() == ["7.00", "70.0%", "work"]
    assert text[2].split() == ["3.00", "30.0%", "malloc"]


def test_many_functions_are_cut_off_and_counted() -> None:
    many = functions(**{f"f{i}": 1000 - i for i in range(SHOWN_FUNCTIONS + 4)})
    assert render_top_functions(many, 1).splitlines()[-1].split() == ["…", "4", "more"]


def test_what_differs_largest_first_whatever_its_sign() -> None:
    text = render_difference(functions(a=100, gone=5000, same=7), functions(a=300, new=100, same=7), 100).splitlines()
    assert [line.split()[-1] for line in text[1:]] == ["gone", "a", "new", "all"]
    assert text[1].split()[:3] == ["50.00", "0.00", "-50.00"]
    assert text[-1].split()[:3] == ["51.07", "4.07", "-47.00"]


def test_nothing_differs() -> None:
    assert "Every function executes the same" in render_difference(functions(a=1), functions(a=1), 1)
