"""Choosing work orders by expression and by tag."""

from __future__ import annotations

import pytest

from photometer.definition import GroupedSetup, GroupedStmts, TimerArgs
from photometer.errors import DefinitionError
from photometer.plan import WorkOrders, materialize, select
from photometer.plan.selection import selection_sentences

SETUP = GroupedSetup("x = torch.ones(3)", "auto x = torch::ones({3});")
PLAN = materialize(
    {
        "pointwise": {
            "add": GroupedStmts("y = x + 1", "auto y = x + 1;", SETUP, "f(x) -> y", torchscript=True, tags="quick"),
            "Tensor index": GroupedStmts("x[0]", None, SETUP, num_threads=(1, 2)),
        },
        "sweep": GroupedStmts("x + n", None, SETUP, sizes={"n": (6, 64)}, tags=("odd", "slow")),
    }
)


def chosen(plan: WorkOrders) -> list[str]:
    return [order.title for order in plan]


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("add", 4),
        ("ADD", 4),
        ("pointwise", 6),
        ("torchscript", 2),
        ("add and cpp", 2),
        ("add and c++", 2),
        ("add and not cpp", 2),
        ("not add", 4),
        ("not not add", 4),
        ("add or sweep", 6),
        ("sweep or add and cpp", 4),
        ("(sweep or add) and cpp", 2),
        ('"tensor index"', 2),
        ("'tensor index' and threads=2", 1),
        ("threads=2", 1),
        ("n=6", 1),
        ("n=64", 1),
        ("quick", 4),
        ("nothing", 0),
    ],
)
def test_expressions(expression: str, count: int) -> None:
    assert len(select(PLAN, expression)) == count


def test_tags() -> None:
    assert chosen(select(PLAN, tags=["quick"])) == chosen(select(PLAN, "add"))
    assert len(select(PLAN, tags=["quick", "slow"])) == 6
    assert len(select(PLAN, "cpp", tags=["quick"])) == 2
    assert len(select(PLAN, tags=["missing"])) == 0


def test_models_that_nobody_loads_are_left_out() -> None:
    assert len(select(PLAN, "torchscript").scripting_jobs) == 1
    assert select(PLAN, "eager").scripting_jobs == ()


def test_no_choice_is_everything() -> None:
    assert select(PLAN) == PLAN


@pytest.mark.parametrize(
    ("expression", "column"),
    [("", 0), ("add and", 7), ("add cpp", 4), ("(add", 4), ("add)", 3), ("and add", 0), ("not", 3), ('a "b', 2)],
)
def test_caret_of_a_bad_expression(expression: str, column: int) -> None:
    with pytest.raises(DefinitionError, match="-k does not parse") as caught:
        select(PLAN, expression)
    text, caret = str(caught.value.log).splitlines()
    assert text == f"  {expression}"
    assert caret.index("^") - 2 == column


@pytest.mark.parametrize("expression", ["(" * 330 + "add" + ")" * 330, "not " * 3000 + "add", "(" * 5000])
def test_too_much_nesting_is_an_error(expression: str) -> None:
    with pytest.raises(DefinitionError, match="inside each other"):
        select(PLAN, expression)


def test_some_nesting_is_fine() -> None:
    assert select(PLAN, "(" * 50 + "add" + ")" * 50) == select(PLAN, "add")
    assert select(PLAN, " or ".join(["(add)"] * 60)) == select(PLAN, "add")


NAMED = materialize(
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
    assert selection_sentences(NAMED, select(NAMED, expression), expression) == sentences


def test_an_unknown_tag() -> None:
    assert selection_sentences(NAMED, select(NAMED, None, ["slow"]), None, ["slow"])[0].startswith(
        "no benchmark has the tag 'slow'"
    )
