"""What a comparison says as a whole, in which order, and that it survives a file."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from photometer.analysis.cause import FunctionChange, InstructionChange
from photometer.analysis.comparison_result import (
    ComparisonFailure,
    ComparisonResult,
    ComparisonSkip,
    EnvironmentComparison,
    merged,
)
from photometer.analysis.figure_change import judge_metric
from photometer.errors import MeasurementError, ResultsFileError
from photometer.model.records import from_record, to_record
from tests.analysis.verdicts import comparison, result, verdict

FAILURE = ComparisonFailure("id", "mul", "branch", "ValueError: no")
SKIP = ComparisonSkip("id", "mul", "", "needs AVX")
CHANGE = InstructionChange(1000.0, 1100.0, 2.0, 2.0, 3, 0.0001, (FunctionChange(100.0, "f"),))


def test_what_matters_comes_first() -> None:
    whole = comparison(
        result("same", title="a"),
        result("faster", 0.9, title="b"),
        result("slower", 1.01, title="c"),
        result("undecided", title="d"),
        result("slower", 1.2, title="e"),
    )
    assert [each.title for each in whole] == ["e", "c", "d", "b", "a"]
    assert len(whole) == 5


@pytest.mark.parametrize(
    ("words", "extra", "outcome", "word"),
    [
        (["same", "faster"], {}, "fine", "faster"),
        (["same"], {}, "fine", "same"),
        (["same", "slower", "undecided"], {}, "slower", "slower"),
        (["same", "undecided"], {}, "undecided", "undecided"),
        (["same"], {"not_reached": ("b",)}, "undecided", "undecided"),
        (["same"], {"failures": (FAILURE,)}, "failed", "undecided"),
        (["slower"], {"failures": (FAILURE,)}, "slower", "slower"),
        ([], {"failures": (FAILURE,)}, "failed", "undecided"),
        (["same"], {"skips": (SKIP,)}, "fine", "same"),
        ([], {"skips": (SKIP,)}, "fine", "same"),
        ([], {}, "nothing", "undecided"),
    ],
)
def test_outcome(words: list[Any], extra: dict[str, Any], outcome: str, word: str) -> None:
    whole = comparison(*(result(each, title=str(i)) for i, each in enumerate(words)), **extra)
    assert (whole.outcome, whole.verdict) == (outcome, word)


def test_a_result_answers_for_its_verdict() -> None:
    one = result("slower", 1.05)
    assert (one.verdict, one.ratio, one.interval) == ("slower", 1.05, (1.048, 1.052))
    assert one.difference_seconds == pytest.approx(5e-8)


def test_there_and_back() -> None:
    one = result("slower", 1.05, cause="why", instructions=CHANGE, layout_ratios=(1.04, 1.06), warnings=("hm",))
    assert from_record(ComparisonResult, json.loads(json.dumps(to_record(one)))) == one


def many() -> EnvironmentComparison:
    return comparison(
        result("same", title="add"),
        result("slower", 1.2, "add", side=2, before=1, step=verdict("faster", 0.9), warnings=("hm",)),
        result("undecided", 1.0, "mul", side=2, warnings=("hm", "oh")),
        names=("a", "b", "c"),
        failures=(
            ComparisonFailure("id of mul", "mul", "b", "ValueError", place=1),
            ComparisonFailure("id of div", "div", "a", "ValueError", place=0),
        ),
        not_reached=("pow on b", "pow on c", "sqrt on c"),
        metrics=(judge_metric("id of add", "add", "loss", [1.0], [2.0], side=2),),
    )


def test_a_row_is_one_benchmark_on_all_sides() -> None:
    add, mul, div = many().rows
    assert [row.title for row in (add, mul, div)] == ["add", "mul", "div"]
    assert {side: cell.verdict for side, cell in add.cells.items()} == {1: "same", 2: "slower"}
    assert add.reference_seconds == 1e-6
    # Slower than the reference, but faster than the side before it.
    assert [(cell.side, cell.latest.verdict) for cell in add.changes] == [(2, "faster")]
    assert list(mul.cells) == [2]
    assert list(mul.failures) == [1]
    assert mul.warnings == ("hm", "oh")
    assert (list(div.cells), list(div.failures), div.reference_seconds) == ([], [0], None)
    assert many().outcome == "slower"


def test_a_side_is_a_comparison_with_the_reference() -> None:
    whole = many()
    assert (whole.base, whole.branch, whole.has_many_sides) == ("a", "b", True)
    first, second = whole.pairs
    assert (first.names, second.names) == (("a", "b"), ("a", "c"))
    assert not second.has_many_sides
    assert [(each.title, each.side, each.before, each.step) for each in second.results] == [
        ("add", 1, 0, None),
        ("mul", 1, 0, None),
    ]
    assert [(each.title, each.side, each.place) for each in first.failures] == [
        ("mul", "branch", 1),
        ("div", "base", 0),
    ]
    assert [(each.title, each.side, each.place) for each in second.failures] == [("div", "base", 0)]
    assert (first.not_reached, second.not_reached) == (("pow",), ("pow", "sqrt"))
    assert (len(first.metrics), [metric.side for metric in second.metrics]) == (0, [1])
    assert first.of_side(1) is first
    assert (first.outcome, second.outcome) == ("failed", "slower")


def test_titles_name_the_side_if_there_are_many() -> None:
    named = many().titled_by_side()
    assert [each.title for each in named.results] == ["add on b", "add on c", "mul on c"]
    assert [each.title for each in named.failures] == ["mul on b", "div on a"]
    two = comparison(result("same"))
    assert two.titled_by_side() is two


def test_a_failure_that_is_not_known_to_be_of_a_side_is_of_all() -> None:
    unknown = ComparisonFailure("id of add", "add", "", "it broke")
    whole = comparison(names=("a", "b", "c"), failures=(unknown,))
    assert dict(whole.rows[0].failures) == {1: unknown, 2: unknown}
    assert [pair.failures for pair in whole.pairs] == [(unknown,), (unknown,)]
    assert whole.titled_by_side().failures == (unknown,)
    # Files of earlier versions have only the name of the side.
    old = comparison(failures=(ComparisonFailure("id", "add", "base", "no"),))
    assert list(old.rows[0].failures) == [0]


def test_parts_of_a_suite_are_one_comparison() -> None:
    first = comparison(result("same"), warnings=("hm",), not_reached=("pow",))
    second = comparison(result("slower", 1.2, "mul"), warnings=("hm", "oh"), failures=(FAILURE,))
    whole = merged([first, second])
    assert [each.title for each in whole.results] == ["add", "mul"]
    assert (whole.failures, whole.not_reached, whole.warnings) == ((FAILURE,), ("pow",), ("hm", "oh"))
    assert (whole.names, whole.measuring_seconds) == (first.names, 25.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"names": ("a",)},
        {"results": (result("same", side=2),)},
        {"results": (result("same", side=0),)},
        {"results": (result("same", before=1),)},
        {"failures": (ComparisonFailure("id", "add", "c", "no", place=2),)},
        {"metrics": (judge_metric("id", "add", "loss", [1.0], [2.0], side=2),)},
    ],
    ids=str,
)
def test_there_are_no_results_of_sides_that_are_not_there(wrong: dict[str, Any]) -> None:
    with pytest.raises(MeasurementError, match="sides that it does not have"):
        dataclasses.replace(comparison(result("same")), **wrong)


def test_the_side_is_there_and_back() -> None:
    one = result("slower", 1.05, side=2, before=1, step=verdict("same"))
    assert from_record(ComparisonResult, json.loads(json.dumps(to_record(one)))) == one
    # Of two sides, a record is as before.
    assert not {"side", "before", "step"} & set(to_record(result("same")))


@pytest.mark.parametrize("missing", ["verdict", "instructions", "title", "layout_ratios"])
def test_damage_is_named(missing: str) -> None:
    record = {name: value for name, value in to_record(result("same")).items() if name != missing}
    with pytest.raises(ResultsFileError, match=missing):
        from_record(ComparisonResult, record)
