from __future__ import annotations

import pytest
import torch

from photometer.definition import GroupedSetup, GroupedStmts
from photometer.errors import DefinitionError
from photometer.instruments.device import torch_accelerator
from photometer.instruments.device.options import DeviceOptions
from photometer.instruments.device.suite_order import measure_order
from photometer.model.device_mode import ModeName
from photometer.model.language import Language
from photometer.model.task import TaskSpec
from photometer.plan import materialize
from photometer.plan.work_order import WorkOrder
from tests.instruments.device.fake_device import FakeDevice, FakeGraphs

SUITE = {
    "add": GroupedStmts(
        py_stmt="y = x + 1",
        cpp_stmt="auto y = x + 1;",
        setup=GroupedSetup("x = torch.randn(256, device=device)", "auto x = torch::randn({256}).to(device);"),
        devices=("cpu", "cuda"),
    )
}
TASK = TaskSpec("y = x + 1", "pass")


def order(device: str, language: Language) -> WorkOrder:
    (found,) = [o for o in materialize(SUITE) if o.auto.device == device and o.args.language is language]
    return found


def test_orders_for_the_cpu_or_of_cpp_are_refused() -> None:
    with pytest.raises(DefinitionError, match="CPU"):
        measure_order(order("cpu", Language.PYTHON), TASK)
    with pytest.raises(DefinitionError, match="Python statements"):
        measure_order(order("cuda", Language.CPP), TASK)


def test_an_order_is_measured_on_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    device, opened = FakeDevice(), []

    def open_fake(name: str | None) -> object:
        opened.append(name)
        return device.accelerator(graphs=FakeGraphs(device))

    monkeypatch.setattr(torch_accelerator, "open_accelerator", open_fake)
    # The set-up makes its tensor on the device; here there is none, so the CPU stands for it.
    monkeypatch.setattr(torch, "randn", lambda *size, device: torch.ones(*size))
    found = measure_order(order("cuda", Language.PYTHON), TASK, DeviceOptions(min_run_time=0.01, source="events"))
    assert opened == ["cuda"]
    assert found.task_spec == TASK
    assert found.mode(ModeName.HOST).measured
    assert torch.get_num_threads() >= 1
