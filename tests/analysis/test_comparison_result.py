"""What a comparison says as a whole, in which order, and that it survives a file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from photometer.analysis.cause import FunctionChange, InstructionChange
from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult
from photometer.errors import ResultsFileError
from photometer.model.records import from_record, to_record
from tests.analysis.verdicts import comparison, result

FAILURE = ComparisonFailure("id", "mul", "branch", "ValueError: no")
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
    ("words", "extra", "outcome", "verdict"),
    [
        (["same", "faster"], {}, "fine", "faster"),
        (["same"], {}, "fine", "same"),
        (["same", "slower", "undecided"], {}, "slower", "slower"),
        (["same", "undecided"], {}, "undecided", "undecided"),
        (["same"], {"not_reached": ("b",)}, "undecided", "undecided"),
        (["same"], {"failures": (FAILURE,)}, "failed", "undecided"),
        (["slower"], {"failures": (FAILURE,)}, "slower", "slower"),
        ([], {"failures": (FAILURE,)}, "failed", "undecided"),
        ([], {}, "nothing", "undecided"),
    ],
)
def test_outcome(words: list[Any], extra: dict[str, Any], outcome: str, verdict: str) -> None:
    whole = comparison(*(result(word, title=str(i)) for i, word in enumerate(words)), **extra)
    assert (whole.outcome, whole.verdict) == (outcome, verdict)


def test_a_result_answers_for_its_verdict() -> None:
    one = result("slower", 1.05)
    assert (one.verdict, one.ratio, one.interval) == ("slower", 1.05, (1.048, 1.052))
    assert one.difference_seconds == pytest.approx(5e-8)


def test_there_and_back() -> None:
    one = result("slower", 1.05, cause="why", instructions=CHANGE, layout_ratios=(1.04, 1.06), warnings=("hm",))
    assert from_record(ComparisonResult, json.loads(json.dumps(to_record(one)))) == one


@pytest.mark.parametrize("missing", ["verdict", "instructions", "title", "layout_ratios"])
def test_damage_is_named(missing: str) -> None:
    record = {name: value for name, value in to_record(result("same")).items() if name != missing}
    with pytest.raises(ResultsFileError, match=missing):
        from_record(ComparisonResult, record)
