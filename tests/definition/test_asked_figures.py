"""flops=, bytes= and metrics= of a definition, and what the plan makes of them."""

from __future__ import annotations

import json

import pytest

from photometer.definition import GroupedSetup, GroupedStmts
from photometer.definition.suite import Suite
from photometer.errors import DefinitionError
from photometer.model.records import from_record, to_record
from photometer.plan import materialize
from photometer.plan.work_order import WorkOrder

SETUP = GroupedSetup("x = torch.rand(n)", "auto x = torch::rand({n});")


def test_amounts_are_computed_at_each_size() -> None:
    group = GroupedStmts("y = x + 1", setup=SETUP, sizes={"n": (4, 8)}, flops="n", bytes=64)
    orders = materialize({"a": group}).orders
    assert [(order.figures.flops, order.figures.bytes) for order in orders if order.figures] == [
        (4.0, 64.0),
        (8.0, 64.0),
    ]


def test_metrics_are_read_of_the_eager_python_variant_alone() -> None:
    group = GroupedStmts(
        "y = x.sum()\nmean = x.mean()",
        "auto y = x.sum();",
        SETUP,
        signature="f(x) -> y",
        torchscript=True,
        sizes={"n": (4,)},
        metrics=("y", "mean"),
    )
    found = {
        (order.auto.language.name, order.auto.runtime.value): order.figures.metrics
        for order in materialize({"a": group})
        if order.figures
    }
    assert found[("PYTHON", "eager")] == ("y", "mean")
    assert not any(metrics for variant, metrics in found.items() if variant != ("PYTHON", "eager"))


def test_figures_change_neither_the_fingerprint_nor_the_ids() -> None:
    plain = {"a": GroupedStmts("y = x.sum()", setup=SETUP, sizes={"n": (4,)})}
    asked = {"a": GroupedStmts("y = x.sum()", setup=SETUP, sizes={"n": (4,)}, flops=3, metrics="y", instructions=False)}
    assert Suite.from_benchmarks(plain).fingerprint == Suite.from_benchmarks(asked).fingerprint
    assert materialize(plain).orders[0].id == materialize(asked).orders[0].id
    assert materialize(plain).orders[0].counts_instructions
    assert not materialize(asked).orders[0].counts_instructions


def test_an_order_with_figures_crosses_as_json() -> None:
    (order,) = materialize({"a": GroupedStmts("y = x", setup=SETUP, sizes={"n": (4,)}, flops=3, metrics="y")}).orders
    assert from_record(WorkOrder, json.loads(json.dumps(to_record(order)))) == order


@pytest.mark.parametrize(
    "asked",
    [
        {"flops": "m"},
        {"flops": "n - 4"},
        {"flops": "n > 1"},
        {"flops": True},
        {"bytes": "n +"},
        {"metrics": "absent"},
        {"metrics": ("y", "y")},
        {"metrics": "for"},
        {"metrics": 3},
    ],
)
def test_mistakes_are_found_when_it_is_defined(asked: dict[str, object]) -> None:
    with pytest.raises(DefinitionError):
        GroupedStmts("y = x + 1", setup=SETUP, sizes={"n": (4,)}, **asked)  # type: ignore[arg-type]
