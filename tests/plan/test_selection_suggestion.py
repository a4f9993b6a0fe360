"""What is said of a selection: how many, and words that nothing has."""

from __future__ import annotations

import pytest

from photometer.definition import TimerArgs
from photometer.plan import materialize, select
from photometer.plan.selection import selection_sentences

PLAN = materialize(
    {"maths": {"softmax": TimerArgs("1"), "add": TimerArgs("2")}, "Tensor index": {"slice": TimerArgs("3")}}
)


@pytest.mark.parametrize(
    ("expression", "sentences"),
    [
        (None, []),
        ("add", ["1 of 3 variants selected"]),
        ("not add", ["2 of 3 variants selected"]),
        ("softmx or add", ["no label has 'softmx'; did you mean 'softmax'?", "1 of 3 variants selected"]),
        ('"tensor indx"', ["no label has 'tensor indx'; did you mean 'tensor index'?", "0 of 3 variants selected"]),
        ("zzz", ["no label has 'zzz'; `photometer list` shows the labels", "0 of 3 variants selected"]),
    ],
)
def test_sentences(expression: str | None, sentences: list[str]) -> None:
    assert selection_sentences(PLAN, select(PLAN, expression), expression) == sentences


def test_an_unknown_tag() -> None:
    assert selection_sentences(PLAN, select(PLAN, None, ["slow"]), None, ["slow"])[0].startswith(
        "no benchmark has the tag 'slow'"
    )
