"""Time and instructions in one sentence: every combination, and the functions behind it."""

from __future__ import annotations

from typing import Any

import pytest

from photometer.analysis.cause import (
    FunctionChange,
    InstructionChange,
    are_identical,
    cause_sentence,
    function_changes,
    instruction_change,
    short_functions,
)
from photometer.analysis.changed_code import ChangedCode
from photometer.analysis.figure_change import FigureChange
from photometer.model.instruction_counts import FunctionCounts, InstructionCounts, InstructionFigures
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec
from tests.analysis.verdicts import verdict


def change(base: float, branch: float, spread: float = 0.0, **more: Any) -> InstructionChange:
    return InstructionChange(base, branch, 1.0, 1.0, 3, spread, **more)


MORE = change(1000.0, 1050.0, functions=(FunctionChange(60.0, "grew"), FunctionChange(-10.0, "shrank")))
FEWER = change(1000.0, 950.0, functions=(FunctionChange(-50.0, "shrank"),))
SAME = change(1000.0, 1000.2)


@pytest.mark.parametrize(
    ("word", "counts", "told"),
    [
        ("slower", MORE, "more instructions and slower: +50 instructions per run (+5.0 %), most in grew (+60)"),
        ("slower", SAME, "slower with the same instructions: memory, layout or machine"),
        ("slower", FEWER, "fewer instructions but slower: -50 instructions per run (-5.0 %), most in shrank (-50)"),
        ("faster", FEWER, "fewer instructions and faster"),
        ("faster", SAME, "faster with the same instructions"),
        ("same", MORE, "more instructions, but the same time: +50"),
        ("undecided", MORE, "more instructions; the time is undecided"),
    ],
)
def test_sentences(word: Any, counts: InstructionChange, told: str) -> None:
    assert cause_sentence(verdict(word, 1.05), counts).startswith(told)


def test_the_users_code_is_named_before_native_functions() -> None:
    code = (ChangedCode("gate", "tinynet/model.py", 41, 48.0, ("contiguous",)),)
    told = cause_sentence(verdict("slower", 1.05), change(1000.0, 1050.0, functions=MORE.functions, code=code))
    assert told == (
        "more instructions and slower: +50 instructions per run (+5.0 %); "
        "new under gate (tinynet/model.py:41): contiguous (+48)."
    )


def test_nothing_is_said_where_nothing_changed() -> None:
    assert cause_sentence(verdict("same"), SAME) == ""
    assert cause_sentence(verdict("undecided"), SAME) == ""
    assert cause_sentence(verdict("same"), None, (1.001,)) == ""


def test_other_layouts_are_told_beside_a_change() -> None:
    assert cause_sentence(verdict("slower", 1.05), SAME, (1.0012, 0.998)).endswith("in other layouts +0.12 %, -0.20 %.")
    assert "in other layouts +4.0 %" in cause_sentence(verdict("slower", 1.05), MORE, (1.04,))
    assert cause_sentence(verdict("slower", 1.05), None, (1.04,)) == "In other layouts +4.0 %."


def test_a_change_must_exceed_the_luck_of_the_layout() -> None:
    assert change(1000.0, 1001.0).has_changed
    assert not change(1000.0, 1000.4).has_changed
    assert not change(1000.0, 1010.0, spread=0.02).has_changed


def counts(*outside_per_run: float) -> list[InstructionCounts]:
    spec = TaskSpec("x", "pass")
    return [
        InstructionCounts(spec, 100, (InstructionFigures(int(100 * value) + 5000, int(100 * value), 200),))
        for value in outside_per_run
    ]


def functions(**counts: int) -> FunctionCounts:
    named = {f"file.c:{name} [/lib/a.so]": count for name, count in counts.items()}
    return FunctionCounts.from_mapping(named, inclusive=False)


def test_figures_of_the_frozen_layout_and_the_spread_over_others() -> None:
    found = instruction_change(
        counts(1000.0, 1001.0, 1002.0), counts(1100.0, 1100.0, 1100.0), functions(f=1000), functions(f=11_000)
    )
    assert (found.base_per_run, found.branch_per_run, found.layouts) == (1000.0, 1100.0, 3)
    assert found.layout_spread == pytest.approx(0.002)
    assert found.base_allocator_calls_per_run == 2.0
    assert found.functions == (FunctionChange(100.0, "f"),)


def test_functions_by_name_without_the_allocator_and_without_crumbs() -> None:
    base = functions(eval=1000, malloc=100, gone=500, crumb=0)
    branch = FunctionCounts.from_mapping(
        {
            "f.c:eval [/other/b.so]": 3000,
            "f.c:eval'2 [/other/b.so]": 2000,
            "m.c:malloc [/lib/c.so]": 9000,
            "f.c:crumb [/other/b.so]": 99,
        },
        inclusive=False,
    )
    assert function_changes(base, branch, 100) == (FunctionChange(40.0, "eval"), FunctionChange(-5.0, "gone"))


def test_there_and_back() -> None:
    assert from_record(InstructionChange, to_record(MORE)) == MORE


@pytest.mark.parametrize(
    ("figures", "functions", "identical"),
    [
        ((1000, 900, 3), {"f": 900, "malloc": 100}, True),
        # The allocator's own instructions depend on the layout, its calls do not.
        ((1040, 900, 3), {"f": 900, "malloc": 140}, True),
        ((1000, 900, 4), {"f": 900, "malloc": 100}, False),
        ((1001, 901, 3), {"f": 901, "malloc": 100}, False),
        # As many in all, but not in the same functions.
        ((1000, 900, 3), {"f": 899, "g": 1, "malloc": 100}, False),
    ],
)
def test_identical_is_the_same_instructions_function_by_function(
    figures: tuple[int, int, int], functions: dict[str, int], identical: bool
) -> None:
    def side(figures: tuple[int, int, int], functions: dict[str, int]) -> tuple[InstructionCounts, FunctionCounts]:
        counts = InstructionCounts(TaskSpec("s", "pass"), 1, (InstructionFigures(*figures),))
        named = {f"a.c:{name} [/lib/x.so]": count for name, count in functions.items()}
        return counts, FunctionCounts.from_mapping(named, inclusive=False)

    base, branch = side((1000, 900, 3), {"f": 900, "malloc": 100}), side(figures, functions)
    assert are_identical(base[0], branch[0], base[1], branch[1]) is identical


def test_the_same_instructions_get_an_exact_figure_as_their_cause() -> None:
    misses = FigureChange(
        "last_level_misses",
        "last-level misses",
        500.0,
        13_000.0,
        True,
        (ChangedCode("gather", "model.py", 41, 12_500.0),),
    )
    assert cause_sentence(verdict("slower"), SAME, (), (misses,)) == (
        "slower with the same instructions: 12,500 more last-level misses, 13,000 in all under gather (model.py:41)."
    )
    # It does not explain why something is faster.
    assert "memory, layout or machine" in cause_sentence(verdict("faster"), SAME, (), (misses,))


def test_names_of_c_are_shortened_to_what_tells_them_apart() -> None:
    kernel = "at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)"
    loop = f"{kernel}::{{lambda()#1}}::operator()() const::{{lambda(char**, long const*)#2}}::operator()(char**) const"
    assert short_functions([kernel]) == ["silu_kernel"]
    others = ["forward (model.py:3)", "memcpy"]
    assert short_functions([loop, *others]) == ["silu_kernel", *others]
    assert short_functions(["at::add_out [libtorch_cpu.so]", "f [a.so]"]) == ["add_out", "f"]
    assert short_functions(["f [a.so]", "f [b.so]", "[a.so]"]) == ["f [a.so]", "f [b.so]", "[a.so]"]
    assert short_functions(["void c10::detail::push<std::vector<int>, 3>(int)"]) == ["push"]
    assert short_functions(["a::size() const", "b::size() const"]) == ["a::size() const", "b::size() const"]
    assert short_functions(["std::operator<<(std::ostream&, int)"]) == ["operator<<"]
    assert short_functions([kernel, kernel]) == ["silu_kernel", "silu_kernel"]
