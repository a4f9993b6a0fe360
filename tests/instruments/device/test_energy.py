"""Energy of a run by a counter that is brought up to date now and then; no card is needed."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from photometer.errors import ToolMissing
from photometer.instruments.device.energy import card_number, measure_energy, open_energy_counter, open_energy_of
from photometer.model.task import TaskSpec

IDLE_WATTS, WORKING_WATTS = 100.0, 600.0


class Card:
    """Draws one power while it works and another while it does not; a clock that only sleeping and work move."""

    def __init__(self) -> None:
        self.now = self.joules = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.joules += IDLE_WATTS * seconds

    def spin(self, seconds: float) -> int:
        self.now += seconds
        self.joules += WORKING_WATTS * seconds
        return round(seconds / 1e-3)


def test_joules_of_a_run_and_what_the_counter_leaves_unknown() -> None:
    card = Card()
    energy = measure_energy(
        card.spin, lambda: card.joules, TaskSpec("x"), sleep=card.sleep, clock=lambda: card.now, work_seconds=2.0
    )
    assert energy.joules_per_run == pytest.approx(0.6)
    assert energy.idle_watts == pytest.approx(IDLE_WATTS)
    assert energy.watts == pytest.approx(WORKING_WATTS)
    assert energy.runs == 2000
    # One update of 0.1 s at this power, shared by all runs.
    assert energy.resolution_joules == pytest.approx(0.03)


class Library:
    def __init__(self, status: int = 0) -> None:
        self._status = status

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, number: int, handle: Any) -> int:
        return 0 if number == 0 else 2

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: Any, value: Any) -> int:
        ctypes.cast(value, ctypes.POINTER(ctypes.c_ulonglong))[0] = 12_345
        return self._status


def test_the_counter_is_in_millijoules() -> None:
    assert open_energy_counter(0, Library())() == pytest.approx(12.345)


def test_a_card_that_is_not_there_or_counts_nothing_is_said() -> None:
    with pytest.raises(ToolMissing, match="card 3"):
        open_energy_counter(3, Library())
    with pytest.raises(ToolMissing, match="does not measure energy"):
        open_energy_counter(0, Library(status=3))()


@pytest.mark.parametrize(
    ("variables", "device", "number"),
    [
        ({}, "cuda", 0),
        ({}, "cuda:2", 2),
        ({"CUDA_VISIBLE_DEVICES": "5,7"}, "cuda:1", 7),
        ({"HIP_VISIBLE_DEVICES": "5, 7"}, "cuda:1", 7),
        ({"CUDA_VISIBLE_DEVICES": "GPU-abc"}, "cuda", 0),
        ({"CUDA_VISIBLE_DEVICES": ""}, "cuda:1", 1),
    ],
)
def test_numbers_of_cards(variables: dict[str, str], device: str, number: int) -> None:
    assert card_number(variables, device) == number


@pytest.mark.parametrize("device", ["xpu", "mps:0", "abacus:1"])
def test_energy_that_nothing_reads_is_said(device: str) -> None:
    with pytest.raises(ToolMissing, match=f"energy of {device.split(':')[0]} devices"):
        open_energy_of(device)
