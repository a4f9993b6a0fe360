"""Seconds to words: which unit suits a time, and how many digits of it mean anything."""

from __future__ import annotations

import math

_SCALE = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit in which `t` seconds is a number from 1 to 1000 (as far as units go), and its size in seconds."""
    size = abs(t)
    if not math.isfinite(size):
        return "s", 1.0
    unit = "ns"
    for candidate, scale in _SCALE.items():
        # A hair of slack: 1e-6 seconds computed as 9.9999999e-07 is still "1 us".
        if size >= scale * (1 - 1e-9):
            unit = candidate
    return unit, _SCALE[unit]


def unit_to_english(u: str) -> str:
    """Return the name of a unit of time in full, such as microseconds for us."""
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """Round `x` to `n` significant figures: 3.14159 to two is 3.1."""
    if n != int(n) or n < 1:
        raise ValueError(f"the number of significant figures must be a positive whole number, not {n!r}")
    if x == 0 or not math.isfinite(x):
        return x
    magnitude = math.ceil(math.log10(abs(x)))
    return round(x, int(n) - magnitude)


def format_seconds(t: float, significant: int = 4) -> str:
    """Return `t` with its unit: 1.234e-6 is '1.234 us'."""
    if not math.isfinite(t):
        return "unknown"
    unit, scale = select_unit(t)
    scaled = t / scale
    if scaled == 0:
        return f"0 {unit}"
    leading = math.floor(math.log10(abs(scaled))) + 1
    decimals = max(significant - max(leading, 1), 0) if leading > 0 else significant - 1
    return f"{scaled:.{decimals}f} {unit}"
