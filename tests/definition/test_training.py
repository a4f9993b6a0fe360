"""TrainingStep: the step as users write it, and its phases."""

from __future__ import annotations

from typing import Any

import pytest

from photometer.definition import TrainingStep
from photometer.errors import DefinitionError
from photometer.plan import materialize
from photometer.plan.auto_labels import RuntimeMode

MODEL = "model = torch.nn.Linear(4, 2)"
INPUTS = "import math\nx = torch.rand(n, 4)\nt = torch.rand(n, 2)"
LOSS = "loss = (y - t).square().mean() * math.pi"


def step(**options: Any) -> Any:
    return TrainingStep(MODEL, INPUTS, LOSS, forward="y = model(x)", sizes={"n": (3,)}, **options)


def test_the_step_clears_gradients_first_and_updates_last() -> None:
    assert step().py_fwd_stmt == (f"optimizer.zero_grad()\ny = model(x)\n{LOSS}\nloss.backward()\noptimizer.step()")
    assert step(set_to_none=False).py_fwd_stmt.startswith("optimizer.zero_grad(set_to_none=False)")


def test_what_a_compiled_step_is_called_with() -> None:
    assert step().signature_args == ("optimizer", "model", "x", "t")
    assert step().signature_output == "loss"
    compiled = [o for o in materialize({"a": step(compiled=True)}) if o.auto.runtime is RuntimeMode.COMPILED]
    assert "def compiled_model(optimizer, model, x, t):\n    optimizer.zero_grad()" in compiled[0].args.setup
    assert compiled[0].figures is not None
    assert compiled[0].figures.phases == ()


def test_autocast_is_around_forward_and_loss_alone() -> None:
    lines = step(autocast="bfloat16").py_fwd_stmt.splitlines()
    assert lines[1] == 'with torch.autocast("cpu", dtype=torch.bfloat16):'
    assert [line.startswith("    ") for line in lines] == [False, False, True, True, False, False]


def test_float16_has_a_scaler_unless_it_is_declined() -> None:
    scaled = step(autocast="float16")
    assert "scaler.scale(loss).backward()\nscaler.step(optimizer)\nscaler.update()" in scaled.py_fwd_stmt
    assert 'scaler = torch.amp.GradScaler("cpu")' in scaled.setup.py_setup
    assert "scaler" not in step(autocast="float16", grad_scaler=False).py_fwd_stmt
    assert "scaler" not in step(autocast="bfloat16").py_fwd_stmt


def test_channels_last_and_devices_are_in_the_set_up() -> None:
    inputs = "x = torch.rand(n, 4, device=device)\nt = torch.rand(n, 2, device=device)"
    made = TrainingStep(
        MODEL, inputs, "loss = (model(x) - t).sum()", sizes={"n": (3,)}, devices="cpu", channels_last=True
    )
    setup = made.setup.py_setup
    assert setup.index("model = model.to(device)") < setup.index("model.to(memory_format=torch.channels_last)")
    assert "x = x.contiguous(memory_format=torch.channels_last) if" in setup
    assert setup.endswith("optimizer = torch.optim.SGD(model.parameters(), lr=0.01)")


def test_phases_are_between_marks_of_a_clock() -> None:
    (order,) = materialize({"a": step(autocast="bfloat16")}).orders
    assert order.figures is not None
    assert order.figures.phases == ("clear", "forward", "loss", "backward", "update")
    assert order.figures.phase_stmt.count("= photometer_clock()") == len(order.figures.marks) == 6
    assert order.figures.phase_stmt.count("torch.autocast") == 2
    assert order.figures.metrics == ("loss",)


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "net = 1"},
        {"loss": "error = 1"},
        {"loss": "loss ="},
        {"optimizer": ""},
        {"autocast": "int8"},
        {"metrics": "tokens"},
    ],
)
def test_mistakes(changed: dict[str, Any]) -> None:
    texts = {"model": MODEL, "inputs": INPUTS, "loss": "loss = model(x).sum()", "sizes": {"n": (3,)}, **changed}
    with pytest.raises(DefinitionError):
        TrainingStep(**texts)
