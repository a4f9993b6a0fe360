"""Compiled variants of a plan: their modes, the calls with other sizes, and a single statement as an order."""

from __future__ import annotations

import pytest

from photometer.definition import GroupedModules, GroupedSetup, GroupedStmts
from photometer.definition.compile_variant import CompileVariant
from photometer.errors import DefinitionError
from photometer.model.records import from_record, to_record
from photometer.plan import AutoLabels, WorkOrder, materialize
from photometer.plan.compiled_statement import compiled_statement, size_dependent


def compiled_orders(**options: object) -> list[WorkOrder]:
    group = GroupedStmts("y = x * 2", setup=GroupedSetup("x = torch.ones(n)"), signature="f(x) -> y", **options)  # type: ignore[arg-type]
    return [order for order in materialize({"mul": group}) if order.auto.runtime.value == "compiled"]


def test_every_mode_is_an_order_with_a_name_of_its_own() -> None:
    plain, reduced = compiled_orders(compiled=["default", "reduce-overhead"], sizes={"n": (4,)})
    assert plain.short_title == "mul [python, compiled, n=4]"
    assert reduced.short_title == "mul [python, compiled reduce-overhead, n=4]"
    assert 'torch.compile(compiled_model, mode="reduce-overhead")' in reduced.args.setup
    assert "reduce-overhead" in reduced.auto.words()
    assert plain.id != reduced.id
    assert from_record(AutoLabels, to_record(reduced.auto)) == reduced.auto
    # Written as before there were modes: results of those versions stay comparable.
    assert "compile" not in to_record(plain.auto)


def test_only_the_first_size_calls_with_the_others() -> None:
    first, second = compiled_orders(compiled=True, sizes={"n": (4, 8)})
    assert first.recompile_with == ("torch.manual_seed(0)\nn = 8\nx = torch.ones(n)\ny = compiled_model(x)",)
    assert second.recompile_with == ()


def test_a_model_made_for_a_size_is_not_called_with_others() -> None:
    group = GroupedModules(
        "model = torch.nn.Linear(n, n)",
        setup=GroupedSetup("x = torch.ones(2, n)"),
        signature="f(x) -> y",
        compiled=True,
        sizes={"n": (4, 8)},
    )
    assert not any(order.recompile_with for order in materialize({"linear": group}))


def test_what_does_not_depend_on_a_size_is_not_made_anew() -> None:
    setup = "import math\nmodel = torch.nn.ReLU()\ndef f(x): return x + n\na = torch.ones(n)\nb = a * 2\nc = 3"
    assert size_dependent(setup, {"n"}) == "a = torch.ones(n)\nb = a * 2"


def test_a_statement_becomes_a_function_of_what_it_reads() -> None:
    order = compiled_statement("f(x)", "f = torch.nn.ReLU()\nx = torch.ones(4)", CompileVariant(fullgraph=True))
    assert "def compiled_model(f, x):\n    compiled_result = f(x)\n    return compiled_result" in order.args.setup
    assert "torch.compile(compiled_model, fullgraph=True)" in order.args.setup
    assert order.args.stmt == "compiled_result = compiled_model(f, x)"


def test_an_assignment_returns_what_it_assigns() -> None:
    order = compiled_statement("z = x + 1\ny = z * 2", "x = torch.ones(4)")
    assert "return y" in order.args.setup


def test_a_statement_that_compiles_itself_is_left_as_it_is() -> None:
    setup = "f = torch.compile(lambda x: x + 1)\nx = torch.ones(n)"
    order = compiled_statement("f(x)", setup, sizes=((("n", 4),), (("n", 8),)))
    assert order.args.stmt == "f(x)"
    assert "compiled_model" not in order.args.setup
    assert order.recompile_with == ("n = 8\nx = torch.ones(n)\nf(x)",)


def test_mistakes_in_a_statement_are_shown() -> None:
    with pytest.raises(DefinitionError, match="the statement is not Python"):
        compiled_statement("f(x")
    with pytest.raises(DefinitionError, match="computes nothing"):
        compiled_statement("pass")
