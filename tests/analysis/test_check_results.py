from __future__ import annotations

from typing import Any

import pytest

from photometer.analysis.check_results import check_results, describe_difference
from photometer.definition import GroupedSetup, GroupedStmts
from photometer.plan import materialize
from photometer.plan.probe import ProbeOutcome

ORDERS = materialize(
    {
        "add": GroupedStmts(
            "y = x + 1",
            "auto y = x + 1;",
            GroupedSetup("x = torch.ones(2)", "auto x = torch::ones({2});"),
            signature="f(x) -> y",
        )
    }
).orders


def tensor(*values: float, shape: list[int] | None = None) -> list[dict[str, Any]]:
    return [{"shape": [len(values)] if shape is None else shape, "values": list(values)}]


def test_variants_that_agree_have_no_problem() -> None:
    (checked,) = check_results([ProbeOutcome(order, {"y": tensor(2.0, 2.0)}) for order in ORDERS])
    assert (checked.title, checked.variants, checked.compared, checked.problems) == ("add", 2, ("y",), ())


def test_a_variant_that_computes_something_else_is_named() -> None:
    python, cpp = ORDERS
    outcomes = [ProbeOutcome(python, {"y": tensor(2.0, 2.0)}), ProbeOutcome(cpp, {"y": tensor(2.0, 3.0)})]
    (checked,) = check_results(outcomes)
    assert checked.problems == ("y differs between add [python] and add [c++]: element 1 is 2 and 3",)


def test_a_variant_that_failed_is_a_problem_and_one_that_tells_nothing_is_not() -> None:
    python, cpp = ORDERS
    (checked,) = check_results([ProbeOutcome(python, None, "it raised"), ProbeOutcome(cpp)])
    assert checked.problems == ("add [python]: it raised",)
    assert checked.compared == ()


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        (tensor(1.0), tensor(1.0 + 1e-6), None),
        (tensor(float("nan")), tensor(float("nan")), None),
        (tensor(float("inf")), tensor(float("inf")), None),
        (tensor(float("inf")), tensor(1.0), "element 0 is inf and 1"),
        (tensor(float("nan")), tensor(1.0), "element 0 is nan and 1"),
        (tensor(1000.0, 0.0), tensor(1000.0, 0.05), None),
        (tensor(1.0), tensor(1.01), "element 0 is 1 and 1.01"),
        (tensor(1.0), tensor(1.0, shape=[1, 1]), "the shapes are [1] and [1, 1]"),
        (tensor(1.0), [], "1 values and 0"),
    ],
)
def test_differences(one: Any, other: Any, difference: str | None) -> None:
    assert describe_difference(one, other) == difference
