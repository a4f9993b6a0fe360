"""How long the blocks of a duet are: for like sides alike, for unlike ones each its own, whatever interrupts."""

from __future__ import annotations

from typing import Any

import pytest

from photometer.instruments.duet import BLOCK_SECONDS, _runs_per_block


class FakeChild:
    """Runs a statement of a known time; `spikes` says at which question an interruption of 5 ms comes."""

    def __init__(self, seconds_per_run: float, spikes: tuple[int, ...] = ()) -> None:
        self.seconds_per_run = seconds_per_run
        self.spikes = spikes
        self.asked = 0

    def ask(self, verb: str, timeout_seconds: float, *, number: int) -> dict[str, Any]:
        self.asked += 1
        return {"seconds": number * self.seconds_per_run + (5e-3 if self.asked in self.spikes else 0.0)}


def numbers(*children: FakeChild) -> list[int]:
    return _runs_per_block(children, 10.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds_per_run", [50e-9, 1e-6, 30e-6, 2e-3, 1.0])
def test_like_sides_have_one_number_that_fills_a_block(seconds_per_run: float) -> None:
    base, branch = numbers(FakeChild(seconds_per_run), FakeChild(1.2 * seconds_per_run))
    assert base == branch
    assert base == 1 or 0.5 * BLOCK_SECONDS < base * seconds_per_run < 2 * BLOCK_SECONDS


def test_unlike_sides_fill_a_block_each() -> None:
    fast, slow = numbers(FakeChild(80e-9), FakeChild(3e-6))
    assert fast * 80e-9 == pytest.approx(BLOCK_SECONDS, rel=0.01)
    assert slow * 3e-6 == pytest.approx(BLOCK_SECONDS, rel=0.01)


@pytest.mark.parametrize("at", range(1, 16))
def test_one_interruption_does_not_make_like_sides_unlike(at: int) -> None:
    base, branch = numbers(FakeChild(1e-6, spikes=(at,)), FakeChild(1e-6))
    assert base == branch
    assert base * 1e-6 == pytest.approx(BLOCK_SECONDS, rel=0.05)
