"""do_bench: Triton's arguments, on an accelerator that exists only in the tests."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from photometer.errors import DefinitionError, DeviceMissing, MeasurementError
from photometer.testing import device_milliseconds, do_bench
from tests.instruments.device.fake_device import GAP_SECONDS, LAUNCH_SECONDS, FakeDevice, FakeKernel, FakeStatement


class FakeTensor:
    grad: Any = 1


def callable_of(device: FakeDevice, *kernels: FakeKernel) -> Any:
    statement = FakeStatement(device, kernels or (FakeKernel(),))
    return lambda: statement(1)


def bench(monkeypatch: pytest.MonkeyPatch, device: FakeDevice, fn: Any, *arguments: Any, **options: Any) -> Any:
    monkeypatch.setattr(
        "photometer.instruments.device.torch_accelerator.open_accelerator", lambda: device.accelerator()
    )
    monkeypatch.setattr(device_milliseconds, "__kwdefaults__", {"clock": device.clock})
    return do_bench(fn, *arguments, **options)


def test_the_arguments_are_tritons() -> None:
    signature = inspect.signature(do_bench)
    assert {name: parameter.default for name, parameter in signature.parameters.items() if name != "fn"} == {
        "warmup": 25,
        "rep": 100,
        "grad_to_none": None,
        "quantiles": None,
        "return_mode": "mean",
    }


def test_a_short_kernel_takes_its_own_time_with_a_cold_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the launch, which takes the host several times as long, nor the gap after each kernel is in it."""
    device = FakeDevice()
    took = bench(monkeypatch, device, callable_of(device))
    assert took == pytest.approx(1e3 * 1.5e-6, rel=0.02)
    assert took < 1e3 * min(LAUNCH_SECONDS, 1.5e-6 + GAP_SECONDS)
    assert device.released
    assert not device.is_attached


def test_a_long_kernel_is_timed_by_events(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeDevice()
    took = bench(monkeypatch, device, callable_of(device, FakeKernel("long", 1e-3, 1.2e-3)), return_mode="median")
    assert took == pytest.approx(1.2, rel=0.01)


def test_what_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeDevice()
    values = iter(range(10_000_000))
    device.noise = lambda: 1.0 + (next(values) % 7) / 100
    fn = callable_of(device, FakeKernel("long", 1e-3, 1.2e-3))
    every = bench(monkeypatch, device, fn, return_mode="all")
    assert len(every) > 2
    low, high = (bench(monkeypatch, device, fn, return_mode=mode) for mode in ("min", "max"))
    assert low < bench(monkeypatch, device, fn) < high
    middle, least, most = bench(monkeypatch, device, fn, 25, 100, None, [0.5, 0.0, 1.0])
    assert least < middle < most
    assert isinstance(bench(monkeypatch, device, fn, quantiles=[0.5]), float)


def test_gradients_are_cleared_before_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    device, tensor = FakeDevice(), FakeTensor()
    launch = callable_of(device)
    seen = set()

    def backward() -> None:
        seen.add(tensor.grad)
        tensor.grad = 2
        launch()

    bench(monkeypatch, device, backward, grad_to_none=[tensor])
    assert seen == {None}


def test_what_runs_nothing_on_the_device_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeDevice()

    def python_alone() -> None:
        device.now += 1e-6

    with pytest.raises(MeasurementError, match="runs nothing on the device"):
        bench(monkeypatch, device, python_alone)
    assert device.released


@pytest.mark.parametrize(
    "options",
    [{"warmup": -1}, {"rep": 0}, {"return_mode": "fastest"}, {"quantiles": [2.0]}, {"quantiles": []}],
)
def test_mistakes_are_found_before_anything_runs(options: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        do_bench(lambda: pytest.fail("it ran"), **options)


def test_without_an_accelerator_it_says_so() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(DeviceMissing, match="no accelerator"):
        do_bench(lambda: None)
