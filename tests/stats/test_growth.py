"""The best fit of constant + factor · n^power."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from photometer.stats.growth import fit_growth

SIZES = [float(2**k) for k in range(4, 13)]


@pytest.mark.parametrize(
    ("curve", "power", "constant"),
    [
        (lambda n: 5e-6 + 1e-9 * n, 1.0, 5e-6),
        (lambda n: 1e-9 * n**2, 2.0, 0.0),
        (lambda n: 1e-6 + 2e-11 * n**3, 3.0, 1e-6),
        (lambda n: 3e-6, 0.0, 3e-6),
        (lambda n: 1e-6 * n**0.5, 0.5, 0.0),
    ],
)
def test_exact_curves_are_found(curve: Callable[[float], float], power: float, constant: float) -> None:
    growth = fit_growth(SIZES, [curve(n) for n in SIZES])
    assert growth is not None
    assert growth.power == pytest.approx(power)
    assert growth.constant == pytest.approx(constant, rel=1e-6, abs=1e-15)
    assert growth.at(100.0) == pytest.approx(curve(100.0), rel=1e-6)


def test_noise_moves_the_power_little() -> None:
    draw = random.Random(3)
    growth = fit_growth(SIZES, [(2e-6 + 1e-9 * n**2) * (1 + draw.gauss(0, 0.03)) for n in SIZES])
    assert growth is not None
    assert growth.power == pytest.approx(2.0, abs=0.15)


def test_too_little_is_nothing() -> None:
    assert fit_growth([1.0, 2.0, 4.0], [1.0, 2.0, 4.0]) is None
    assert fit_growth([10.0, 11.0, 12.0, 13.0], [1.0, 2.0, 3.0, 4.0]) is None
    assert fit_growth([0.0, 1.0, 2.0, 4.0], [1.0, 2.0, 3.0, 4.0]) is None
    assert fit_growth(SIZES, [1.0 if place % 2 else 100.0 for place in range(len(SIZES))]) is None
