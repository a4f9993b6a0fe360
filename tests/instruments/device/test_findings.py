from __future__ import annotations

import torch

from photometer.instruments.device.findings import Noticed, constant_inputs, warnings_from
from photometer.model.device_measurement import ClockReading, DeviceMode, DeviceWarningKind, ModeName, Source


def test_tensors_of_one_value_are_named_with_it() -> None:
    variables = {
        "zeros": torch.zeros(8, 16),
        "ones": torch.ones(100),
        "random": torch.randn(100),
        "few": torch.zeros(3),
        "indices": torch.zeros(100, dtype=torch.int64),
        "number": 3,
        "text": "zeros",
    }
    assert constant_inputs(variables, "cpu") == ["zeros (all 0)", "ones (all 1)"]


def test_containers_are_looked_into() -> None:
    variables = {"pair": [torch.randn(100), torch.zeros(100)], "named": {"w": (torch.zeros(100),)}}
    assert constant_inputs(variables, "cpu") == ["pair (all 0)", "named (all 0)"]


def test_tensors_elsewhere_do_not_matter() -> None:
    assert constant_inputs({"x": torch.zeros(100)}, "cuda") == []
    assert constant_inputs({"x": torch.zeros(100, device="meta")}, "cpu") == []


def test_other_layouts_and_gradients_do_no_harm() -> None:
    sparse = torch.eye(100).to_sparse()
    wanted = torch.zeros(100, requires_grad=True)
    assert constant_inputs({"s": sparse, "w": wanted}, "cpu") == ["w (all 0)"]


def hot_mode(*blocks: tuple[float, int | None]) -> DeviceMode:
    return DeviceMode(
        ModeName.DEVICE_HOT,
        tuple(seconds for seconds, _ in blocks),
        source=Source.EVENTS,
        clocks=tuple(ClockReading(sm_megahertz=clock) for _, clock in blocks),
    )


def warned(mode: DeviceMode) -> list[str]:
    cold = DeviceMode(ModeName.DEVICE_COLD, absent_because="not asked for")
    found = warnings_from(Noticed(0.0, 1.0), mode, cold)
    return [each.message for each in found if each.kind is DeviceWarningKind.CLOCK_CHANGED]


def test_a_clock_that_changed_is_a_warning_with_the_figure_at_the_highest() -> None:
    (words,) = warned(hot_mode((2e-3, 1000), (2e-3, 1000), (1e-3, 2000)))
    assert words == "The clock was 1,000 to 2,000 MHz: 2.00 ms, which would be down to 1.00 ms at the highest."


def test_a_step_of_the_clock_and_an_unknown_one_are_no_warning() -> None:
    assert warned(hot_mode((1e-3, 1965), (1e-3, 1980))) == []
    assert warned(hot_mode((1e-3, None), (1e-3, 1980))) == []
    assert warned(hot_mode((1e-3, 1000))) == []
