from __future__ import annotations

import random

import pytest
import torch

from photometer.analysis.judge import DEFAULT_CRITERIA
from photometer.analysis.verdict import Verdict
from photometer.comparing.statements import ab_device, compare_statements
from photometer.errors import DefinitionError, DeviceMissing
from photometer.instruments.device.statement import Statement
from photometer.model.device_mode import ClockReading
from tests.instruments.device.fake_device import FakeDevice, FakeKernel, FakeStatement


def compare(device: FakeDevice, seconds_b: float, *, cold: bool = False, seed: int = 0) -> Verdict:
    noise = random.Random(seed)
    device.noise = lambda: noise.lognormvariate(0.0, 0.002)
    a, b = (FakeStatement(device, (FakeKernel("k", s, s),)) for s in (1e-3, seconds_b))
    return compare_statements(
        Statement(a, dict),
        Statement(b, dict),
        device.accelerator(),
        cold=cold,
        budget=5.0,
        source="auto",
        criteria=DEFAULT_CRITERIA,
        order=random.Random(seed),
        clock=device.clock,
    )


@pytest.mark.parametrize("seed", range(2))
def test_five_per_cent_are_found_and_identical_sides_are_the_same(seed: int) -> None:
    slower = compare(FakeDevice(), 1.05e-3, seed=seed)
    assert slower.verdict == "slower"
    assert slower.ratio == pytest.approx(1.05, abs=0.005)
    assert slower.replicates >= 4
    assert compare(FakeDevice(), 0.95e-3, seed=seed).verdict == "faster"
    assert compare(FakeDevice(), 1e-3, seed=seed).verdict == "same"


def test_the_result_says_what_was_measured_and_cleans_up() -> None:
    device = FakeDevice()
    found = compare(device, 1.05e-3, cold=True)
    text = str(found)
    assert text.startswith("slower: slower by ")
    assert "device time, cold cache, by events, on Fake 9000" in text
    assert device.released
    assert not device.is_attached


def test_time_is_up_without_a_verdict() -> None:
    device = FakeDevice()
    noise = random.Random(1)
    device.noise = lambda: noise.lognormvariate(0.0, 0.02)
    statement = Statement(FakeStatement(device, (FakeKernel("k", 1e-3, 1e-3),)), dict)
    start = device.clock()
    found = compare_statements(
        statement,
        statement,
        device.accelerator(),
        cold=False,
        budget=1.0,
        source="events",
        criteria=DEFAULT_CRITERIA,
        order=random.Random(0),
        clock=device.clock,
    )
    assert found.verdict == "undecided"
    assert device.clock() - start < 1.5


def test_throttling_throughout_is_noted() -> None:
    device = FakeDevice(reading=lambda _: ClockReading(1400, throttle_reasons=("power cap",)))
    assert any("held back" in note for note in compare(device, 1.05e-3).notes)


def test_arguments_are_checked() -> None:
    with pytest.raises(DefinitionError, match="budget"):
        ab_device("pass", "pass", budget=0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_the_message_is_clear() -> None:
    with pytest.raises(DeviceMissing, match="accelerator"):
        ab_device("pass", "pass")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; this torch finds none")
def test_more_work_is_slower_on_a_real_gpu() -> None:
    setup = "x = torch.randn(2**24, device='cuda'); y = torch.empty_like(x); n = 2**23"
    found = ab_device("torch.add(x[:n], 1, out=y[:n])", "torch.add(x, 1, out=y)", setup, budget=2.0)
    assert found.verdict == "slower"
    same = ab_device(lambda: torch.ones(10, device="cuda"), lambda: torch.ones(10, device="cuda"), budget=2.0)
    assert same.verdict in ("same", "undecided")
