"""The suite as a whole: what it holds, and that every rung of it runs and overrides what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.definition import load_suite
from photometer.errors import DefinitionError
from photometer.model.machine import Environment
from photometer.plan import materialize, select
from photometer.session.session import Session
from photometer.suites.overrides import CALLS, RUNGS, Rung, ladder
from photometer.worker.messages import Prepare

pytestmark = pytest.mark.warm

PLAN = materialize(load_suite("overrides"))


def test_every_rung_is_there_for_every_call_that_can_take_it() -> None:
    labels = {order.label for order in PLAN}
    assert {label[-1] for label in labels} == {rung.name for rung in RUNGS}
    assert {label[:-1] for label in labels} == {call.label for call in CALLS}
    assert ("torch.add", "WithTorchFunction") in labels
    # A tensor-like has no methods of a tensor; the position of an argument does not matter for a mode.
    assert ("method", "WithTorchFunction") not in labels
    assert ("argument position", "second", "TorchFunctionMode-1") not in labels
    assert ("argument position", "second", "WithTorchFunction") in labels


def test_the_classic_four_are_tagged() -> None:
    classic = [order.label[-1] for order in select(PLAN, tags=["classic"])]
    assert classic == ["Tensor", "SubTensor", "WithTorchFunction", "SubWithTorchFunction"]


@pytest.mark.lengthy
def test_every_order_runs(session: Session) -> None:
    failed = {}
    for order in PLAN:
        with session.child() as child:
            try:
                child.ask(Prepare(order.args.stmt, order.args.setup, warmup_runs=2), 60.0)
            except Exception as error:
                failed[order.title] = str(error)
    assert not failed


CALLED = """
calls = []
def traced(owner, name):
    method = owner.__dict__[name]
    inner = getattr(method, "__func__", method)
    def outer(first, func, *rest):
        calls.append(getattr(func, "__name__", str(func)))
        return inner(first, func, *rest)
    setattr(owner, name, classmethod(outer) if isinstance(method, classmethod) else outer)
"""


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("call", "rung", "traced", "times"),
    [
        ("torch.add", "WithTorchFunction", "WithTorchFunction.__torch_function__", 1),
        ("torch.cat", "WithTorchFunction", "WithTorchFunction.__torch_function__", 1),
        ("many arguments", "SubWithTorchFunction", "SubWithTorchFunction.__torch_function__", 1),
        ("attribute", "SubWithTorchFunction", "SubWithTorchFunction.__torch_function__", 1),
        ("not overridable", "SubWithTorchFunction", "SubWithTorchFunction.__torch_function__", 0),
        ("operator", "TorchFunctionMode-3", "FunctionMode.__torch_function__", 3),
        ("not overridable", "TorchFunctionMode-3", "FunctionMode.__torch_function__", 0),
        ("method", "TorchDispatchSubclass", "TorchDispatchSubclass.__torch_dispatch__", 1),
        ("torch.add", "TorchDispatchMode", "DispatchMode.__torch_dispatch__", 1),
        ("fifth of many", "WithTorchFunction", "WithTorchFunction.__torch_function__", 1),
        ("keyword", "TorchDispatchSubclass", "TorchDispatchSubclass.__torch_dispatch__", 1),
    ],
)
def test_the_override_is_called_as_often_as_it_should(
    call: str, rung: str, traced: str, times: int, session: Session
) -> None:
    order = next(o for o in PLAN if o.label[-1] == rung and call in o.label)
    owner, name = traced.split(".")
    # A mode stays entered, so this is done in a fork of its own.
    trace, check = f"traced({owner}, '{name}')", f"assert len(calls) == {times}, calls"
    body = "\n".join([CALLED, order.args.setup, trace, order.args.stmt, check])
    with session.child() as child:
        child.ask(Prepare("pass", f"exec({body!r}, dict(torch=torch))"), 60.0)


@pytest.mark.lengthy
def test_ones_own_type_joins_the_ladder(tmp_path: Path) -> None:
    (tmp_path / "my_tensors.py").write_text("import torch\nclass MyTensor(torch.Tensor):\n    pass\n")
    mine = Rung("MyTensor", "SubTensor", "{}.as_subclass(MyTensor)", "from my_tensors import MyTensor")
    plan = materialize(ladder([*RUNGS, mine], CALLS[:1]))
    order = plan.orders[-1]
    assert order.label == ("torch.add", "MyTensor")
    assert f"ladder:{len(RUNGS)}>2" in order.tags
    with Session(Environment.current(path=(str(tmp_path),))) as session, session.child() as child:
        stmt = f"{order.args.stmt}\nassert type(z).__name__ == 'MyTensor', type(z)"
        child.ask(Prepare(stmt, order.args.setup, warmup_runs=1), 60.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Rung("two words"), "without spaces"),
        (lambda: Rung("X", wrap="X()"), "Write {} for the tensor"),
        (lambda: ladder([Rung("X", "Nobody", "X({})")]), "stands on Nobody"),
    ],
)
def test_a_wrong_rung_is_an_error(make, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DefinitionError, match=words):
        make()
