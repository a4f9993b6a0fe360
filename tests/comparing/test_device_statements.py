from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch

from photometer.analysis.judge import DEFAULT_CRITERIA
from photometer.analysis.ranking import Ranking
from photometer.analysis.verdict import Verdict
from photometer.comparing.device_statements import OWN_SETUPS_BIAS, DeviceSettings, of_own_setups, rank_opened
from photometer.comparing.rank import Stopping
from photometer.comparing.statements import ab
from photometer.errors import DefinitionError, DeviceMissing
from photometer.instruments.device.statement import Statement
from photometer.model.device_measurement import ClockReading
from tests.instruments.device.fake_device import FakeDevice, FakeKernel, FakeStatement


def compare(device: FakeDevice, seconds_b: float, *, cold: bool = False, seed: int = 0) -> Verdict:
    noise = random.Random(seed)
    device.noise = lambda: noise.lognormvariate(0.0, 0.002)
    return compare_noisy(device, seconds_b, cold=cold, seed=seed)


def compare_noisy(device: FakeDevice, seconds_b: float, *, cold: bool = False, seed: int = 0) -> Verdict:
    return ranked(device, (1e-3, seconds_b), DeviceSettings(cold=cold, seed=seed)).pairs[0].verdict


def ranked(device: FakeDevice, seconds: Sequence[float], settings: DeviceSettings, budget: float = 5.0) -> Ranking:
    statements = [Statement(FakeStatement(device, (FakeKernel("k", each, each),)), dict) for each in seconds]
    names = [f"s{place}" for place in range(len(seconds))]
    return rank_opened(
        names,
        statements,
        device.accelerator(),
        settings,
        Stopping(budget, criteria=DEFAULT_CRITERIA),
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
    assert text.startswith("slower: ")
    assert "device time, cold cache, by events, on Fake 9000" in text
    assert device.released
    assert not device.is_attached


def test_time_is_up_without_a_final_verdict() -> None:
    device = FakeDevice()
    noise = random.Random(1)
    # Noise that a second of budget cannot average away, whatever the order of the blocks.
    device.noise = lambda: noise.lognormvariate(0.0, 0.1)
    start = device.clock()
    found = ranked(device, (1e-3, 1e-3), DeviceSettings(source="events", seed=1), budget=1.0).pairs[0].verdict
    assert found.verdict == "same"
    assert not found.is_final
    assert device.clock() - start < 1.5


def test_throttling_throughout_is_noted() -> None:
    device = FakeDevice(reading=lambda _: ClockReading(1400, throttle_reasons=("power cap",)))
    assert any("held back" in note for note in compare(device, 1.05e-3).notes)


def test_set_ups_of_their_own_differ_by_where_their_tensors_lie() -> None:
    device = FakeDevice()
    noise = random.Random(7)
    device.noise = lambda: noise.lognormvariate(0.0, 0.0005)
    statements = [Statement(FakeStatement(device, (FakeKernel("k", each, each),)), dict) for each in (1e-3, 1.003e-3)]
    stopping = of_own_setups(Stopping(5.0, criteria=DEFAULT_CRITERIA))
    settings = DeviceSettings(seed=1)
    found = rank_opened(["a", "b"], statements, device.accelerator(), settings, stopping, clock=device.clock)
    verdict = found.pairs[0].verdict
    assert verdict.verdict not in ("slower", "faster")
    assert verdict.interval[1] - verdict.interval[0] > 2 * OWN_SETUPS_BIAS
    # With one set-up for both it would be called.
    shared = Stopping(5.0, criteria=DEFAULT_CRITERIA)
    found = rank_opened(["a", "b"], statements, device.accelerator(), settings, shared, clock=device.clock)
    assert found.pairs[0].verdict.verdict == "slower"


def test_the_times_carry_the_clock_that_they_were_taken_at() -> None:
    found = compare(FakeDevice(), 1.05e-3)
    assert found.measured_by.endswith("on Fake 9000 at 1,980 MHz")
    assert not any("clock" in note for note in found.notes)


def test_a_clock_that_changed_is_noted_with_what_the_difference_would_be() -> None:
    device = FakeDevice()
    noise = random.Random(5)

    def megahertz() -> int:
        # It falls while the times stay: in cycles, the later ones are cheaper.
        return 1980 if device.now < 0.1 else 1400

    device.noise = lambda: noise.lognormvariate(0.0, 0.001) * 1980 / megahertz()
    device.reading = lambda _: ClockReading(megahertz())
    found = compare_noisy(device, 1.05e-3)
    assert found.measured_by.endswith("on Fake 9000 at 1,400 to 1,980 MHz")
    (note,) = (note for note in found.notes if "clock" in note)
    assert note.startswith("the clock changed between 1,400 and 1,980 MHz: at one clock the difference would be +")
    assert float(note.split("would be +")[1].split()[0]) == pytest.approx(5.0, abs=0.3)


def test_several_are_ranked_by_device_time() -> None:
    device = FakeDevice()
    noise = random.Random(3)
    device.noise = lambda: noise.lognormvariate(0.0, 0.001)
    ranking = ranked(device, (1e-3, 1.1e-3, 1e-3), DeviceSettings(seed=1), budget=20.0)
    assert ranking.groups == (("s0", "s2"), ("s1",)) or ranking.groups == (("s2", "s0"), ("s1",))
    assert len(ranking.pairs) == 3
    assert "device time" in ranking.measured_by


def test_arguments_are_checked() -> None:
    with pytest.raises(DefinitionError, match="budget"):
        ab("pass", "pass", budget=0, device="any")
    with pytest.raises(DefinitionError, match="cold"):
        ab("pass", "pass", cold=True)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_the_message_is_clear() -> None:
    with pytest.raises(DeviceMissing, match="accelerator"):
        ab("pass", "pass", device="any")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.comparing.statement_source.built_snippets", lambda request: pytest.fail("compiled"))
    with pytest.raises(DeviceMissing, match="no device cuda"):
        ab("int x;", "int y;", language="cpp", device="cuda")


@pytest.mark.gpu
@pytest.mark.compiler
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; this torch finds none")
def test_more_work_in_cpp_is_slower_on_a_real_gpu() -> None:
    setup = "auto x = torch::randn({1 << 24}, torch::kCUDA); auto y = torch::empty_like(x);"
    half, whole = "torch::mul_out(y, x, x);", "torch::mul_out(y, x, x); torch::mul_out(y, x, x);"
    assert ab(half, whole, setup=setup, language="cpp", budget=2.0, device="any").verdict == "slower"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; this torch finds none")
def test_more_work_is_slower_on_a_real_gpu() -> None:
    setup = "x = torch.randn(2**24, device='cuda'); y = torch.empty_like(x); n = 2**23"
    found = ab("torch.add(x[:n], 1, out=y[:n])", "torch.add(x, 1, out=y)", setup=setup, budget=2.0, device="any")
    assert found.verdict == "slower"
    same = ab(lambda: torch.ones(10, device="cuda"), lambda: torch.ones(10, device="cuda"), budget=2.0, device="any")
    assert same.verdict in ("same", "undecided")
