"""Many numbers in few characters: integers of a common power of ten, each as its difference to the one before.

A curve of 2,000 commits is some kilobytes so, and a count that never changes almost nothing. `script/load.js` unpacks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

# Of the largest value. More than a time is known to, less than a count is exact to; counts are whole in hundredths.
TIME_DIGITS = 6
EXACT_DIGITS = 12
INTERVAL_DIGITS = 4


def finite(value: float | None) -> float | None:
    """Return the number, or None for what JSON has no word for."""
    return value if value is not None and math.isfinite(value) else None


def packed(values: Sequence[float], digits: int) -> dict[str, Any]:
    """Return the values rounded to this many digits of the largest one."""
    largest = max((abs(value) for value in values), default=0.0)
    exponent = math.floor(math.log10(largest)) - digits + 1 if largest else 0
    # Whole numbers stay whole.
    if exponent < 0 and all(value == int(value) for value in values):
        exponent = 0
    scale = 10.0 ** abs(exponent)
    whole = [round(value * scale) if exponent < 0 else round(value / scale) for value in values]
    return {"exponent": exponent, "steps": differences(whole)}


def differences(whole: Sequence[int]) -> list[int]:
    """Return the first number, then what each adds to the one before."""
    return [number - before for number, before in zip(whole, [0, *whole], strict=False)]


def packed_curve(
    values: Sequence[float], lows: Sequence[float], highs: Sequence[float], *, exact: bool
) -> dict[str, Any]:
    """Return values with their intervals; how far an interval reaches down and up needs fewer digits."""
    digits = EXACT_DIGITS if exact else TIME_DIGITS
    below = [value - low for value, low in zip(values, lows, strict=True)]
    above = [high - value for value, high in zip(values, highs, strict=True)]
    curve = {"values": packed(values, digits)}
    if any(below) or any(above):
        curve |= {"below": packed(below, INTERVAL_DIGITS), "above": packed(above, INTERVAL_DIGITS)}
    return curve
