"""Instruction counts as text."""

from __future__ import annotations

from photometer.model.instruction_counts import (
    FunctionCount,
    FunctionCounts,
    InstructionCounts,
    InstructionFigures,
    RepeatDifference,
)
from photometer.model.task import TaskSpec
from photometer.report.instructions_text import (
    LONGEST_FUNCTION,
    SHOWN_FUNCTIONS,
    render_counts,
    render_difference,
    render_top_functions,
    table_of_counts,
    table_of_difference,
    table_of_functions,
)
from tests.report.table_texts import heads, texts


def counts(stmt: str, total: int, **more: object) -> InstructionCounts:
    figures = InstructionFigures(total, total - 500, 300)
    loop = InstructionFigures(1000, 900, 100)
    return InstructionCounts(TaskSpec(stmt, "pass"), 100, (figures,), loop, **more)  # type: ignore[arg-type]


def functions(**rows: int) -> FunctionCounts:
    return FunctionCounts.from_mapping(rows, inclusive=False)


def test_three_figures_per_statement_without_the_loop() -> None:
    table = table_of_counts([counts("x + 1", 11_000), counts("x + 1; x is x", 18_000)])
    assert heads(table) == ["per run of", "instructions", "with allocator", "allocator calls"]
    # Counts are whole: 96.00 would promise a digit that no run has.
    assert texts(table) == [["x + 1", "96", "100", "2"], ["x + 1; x is x", "166", "170", "2"]]


def test_reasons_are_named() -> None:
    difference = RepeatDifference(0, 12, (FunctionCount(12, "gc_collect"),))
    table = table_of_counts([counts("a", 5000, differences=(difference,), frozen_layout=False, reasons=("filtered",))])
    assert table.notes[-2:] == ("repeat 1 executed 12 instructions more: +12 gc_collect", "not frozen: filtered")


def test_escapes_and_long_names_cannot_break_the_table() -> None:
    text = render_counts([counts("x = '\x1b[31m'; " + "y + " * 100 + "1", 5000)], width=80)
    assert "\x1b" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_top_functions_with_their_share() -> None:
    table = table_of_functions(functions(malloc=300, work=700), 100)
    assert texts(table) == [["7", "70 %", "work"], ["3", "30 %", "malloc"]]


def test_many_functions_are_cut_off_and_counted() -> None:
    many = functions(**{f"f{i}": 1000 - i for i in range(SHOWN_FUNCTIONS + 4)})
    assert render_top_functions(many, 1).splitlines()[-1] == "4 more functions"


def test_what_differs_largest_first_whatever_its_sign() -> None:
    table = table_of_difference(functions(a=100, gone=5000, same=7), functions(a=300, new=100, same=7), 100)
    assert texts(table) == [
        ["50", "0", "-50", "gone"],
        ["1", "3", "+2", "a"],
        ["0", "1", "+1", "new"],
        ["51.07", "4.07", "-47", "all"],
    ]


def test_nothing_differs() -> None:
    assert texts(table_of_difference(functions(a=1), functions(a=1), 1)) == [["1", "1", "0", "all"]]
    alike = "Every function executes the same number of instructions."
    assert render_difference(functions(a=1), functions(a=1), 1) == alike


def test_the_folders_of_a_long_name_go_before_the_name_does() -> None:
    folder = "/tmp/python-build.20260509073455.222/Python-3.11.7"
    long = f"{folder}/Python/ceval.c:operator/ of [/root/.pyenv/versions/3.11.7/lib/libpython3.11.so.1.0]"
    assert len(long) > LONGEST_FUNCTION
    for shown in (
        render_top_functions(functions(**{long: 7}), 1),
        render_difference(functions(), functions(**{long: 7}), 1),
    ):
        assert "ceval.c:operator/ of [libpython3.11.so.1.0]" in shown
    short = "/usr/x.c:f"
    assert short in render_top_functions(functions(**{short: 7}), 1)
