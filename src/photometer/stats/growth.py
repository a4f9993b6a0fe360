"""How something grows with a size: the best fit of t = constant + factor · n^power.

In: sizes and values. Out: a Growth, or None if the points say too little. Errors are relative, because a sweep goes
over several powers of ten.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

FEWEST_POINTS = 4
# Points that are closer together do not determine a power.
NARROWEST_RANGE = 4.0
# Tried from low to high: with equal errors the lower power is taken.
_POWERS = np.arange(0.0, 4.001, 0.05)
# A fit that is off by more says nothing.
LARGEST_ERROR = 0.25


@dataclasses.dataclass(frozen=True)
class Growth:
    """`relative_error` is the root of the mean square of the fit's relative errors."""

    constant: float
    factor: float
    power: float
    relative_error: float

    def at(self, size: float) -> float:
        return float(self.constant + self.factor * size**self.power)

    def varying_share(self, largest: float) -> float:
        """Return the share of the value at the largest size that grows."""
        whole = self.at(largest)
        return 0.0 if whole <= 0 else (whole - self.constant) / whole


def fit_growth(sizes: list[float], values: list[float]) -> Growth | None:
    """Return the best fit with a constant and a factor that are not negative."""
    x, y = np.asarray(sizes, dtype=float), np.asarray(values, dtype=float)
    if len(x) < FEWEST_POINTS or np.any(x <= 0) or np.any(y <= 0) or x.max() / x.min() < NARROWEST_RANGE:
        return None
    fits = [_fit(x, y, float(power)) for power in _POWERS]
    best = min(fits, key=lambda fit: round(fit.relative_error, 6))
    return best if best.relative_error <= LARGEST_ERROR else None


def _fit(x: NDArray[np.float64], y: NDArray[np.float64], power: float) -> Growth:
    # Divided by the largest, so that n^4 does not swamp the constant.
    scaled = (x / x.max()) ** power
    tried = []
    for columns in (np.stack([np.ones_like(x), scaled], axis=1), scaled[:, None], np.ones_like(x)[:, None]):
        weighted = columns / y[:, None]
        found, *_ = np.linalg.lstsq(weighted, np.ones_like(y), rcond=None)
        if np.all(found >= 0):
            error = float(np.sqrt(np.mean((weighted @ found - 1.0) ** 2)))
            tried.append((error, columns.shape[1], found))
    error, width, found = min(tried, key=lambda each: each[0])
    if width == 2:
        constant, factor = float(found[0]), float(found[1])
    elif error == tried[-1][0] and np.array_equal(found, tried[-1][2]):
        constant, factor = float(found[0]), 0.0
    else:
        constant, factor = 0.0, float(found[0])
    return Growth(constant, factor / float(x.max()) ** power, power, error)
