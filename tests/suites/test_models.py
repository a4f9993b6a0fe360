"""The suite of models: what is in it, that it runs, and that it needs no download."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from photometer.definition import load_suite
from photometer.execution.run_settings import RunSettings
from photometer.pipeline import run_suite
from photometer.plan import materialize, order_tree, select
from photometer.plan.auto_labels import RuntimeMode
from photometer.worker.python_loop import PythonLoop

PLAN = materialize(load_suite("models"), available_devices=["cpu"])
EAGER = [order for order in PLAN if order.auto.runtime is RuntimeMode.EAGER and order.args.num_threads == 1]
# The smallest size of each benchmark.
SMALLEST = list({order.label: order for order in reversed(EAGER)}.values())


def test_it_has_the_usual_models() -> None:
    tree = order_tree("models", PLAN)
    names = {child.name: {below.name for below in child.children} for child in tree.children}
    assert names["forward"] == {"MLP", "ResNet", "transformer encoder", "decoder step", "LSTM", "embedding bag"}
    assert names["attention"] == {"fused", "causal", "written out"}
    assert len(names["training"]) == 6
    assert len(select(PLAN, tags=["quick"])) < len(PLAN) / 2


def test_nothing_is_counted_under_valgrind_and_every_step_has_phases() -> None:
    assert not any(order.counts_instructions for order in PLAN)
    steps = [order for order in EAGER if order.label[0] == "training"]
    assert all(order.figures is not None and len(order.figures.phases) == 5 for order in steps)


@pytest.mark.lengthy
@pytest.mark.parametrize("order", SMALLEST, ids=lambda order: " › ".join(order.label))
def test_each_runs(order: object) -> None:
    args = order.args  # type: ignore[attr-defined]
    with PythonLoop(args.stmt, args.setup, globals={"torch": torch}).open_blocks() as run_block:
        assert run_block(2) > 0


@pytest.mark.nightly
def test_the_whole_suite_runs(tmp_path: Path) -> None:
    report = run_suite("models", tmp_path, RunSettings(options={"instructions": False}, min_run_time=0.05))
    assert report.table.failures == ()
    assert report.table.measured == report.table.orders
