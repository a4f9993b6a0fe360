"""The suite of compilations: what is in it, and that its functions compile."""

from __future__ import annotations

import pytest
import torch

from photometer.definition import load_suite
from photometer.plan import materialize
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.codegen_python import FIRST_CALL_BEGINS, FIRST_CALL_ENDS
from photometer.worker.python_loop import PythonLoop

PLAN = materialize(load_suite("compile"))
COMPILED = [order for order in PLAN if order.auto.runtime is RuntimeMode.COMPILED]


def test_every_entry_is_compiled_and_has_an_eager_variant_beside_it() -> None:
    assert len({order.label for order in PLAN}) == 13
    assert {order.label for order in COMPILED} == {order.label for order in PLAN}
    eager = {order.args.stmt for order in PLAN if order.auto.runtime is RuntimeMode.EAGER}
    assert all(order.eager_args is not None and order.eager_args.stmt in eager for order in COMPILED)


def test_the_first_call_of_each_can_be_counted() -> None:
    for order in COMPILED:
        lines = order.args.setup.splitlines()
        assert (lines.count(FIRST_CALL_BEGINS), lines.count(FIRST_CALL_ENDS)) == (1, 1), order.title


@pytest.mark.slow
def test_each_compiles() -> None:
    for order in COMPILED:
        if not order.auto.compile.backend:
            continue
        torch._dynamo.reset()
        with PythonLoop(order.args.stmt, order.args.setup, globals={"torch": torch}).open_blocks() as run_block:
            assert run_block(2) > 0, order.title
