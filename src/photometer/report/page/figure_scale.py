"""Values to places on a figure, and the few values an axis names: what script/scale.js does on the page.

Numbers in, numbers and short texts out; knows nothing of SVG.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from photometer.model.units import select_unit
from photometer.report.page.figure import Axis

# An axis of changes shows at least this much to each side, so that noise does not fill the picture.
SMALLEST_CHANGE_SHOWN = 0.01
# On an axis of less than this many powers of ten, plain steps name it better than powers do.
FEWEST_POWERS = 1.2


@dataclasses.dataclass(frozen=True)
class Scale:
    """From `low`..`high` (logs of values on a log axis) to `start`..`end`."""

    is_log: bool
    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, axis: Axis, domain: tuple[float, float], start: float, end: float) -> Scale:
        low, high = domain
        if axis.scale == "log":
            low, high = math.log10(max(low, 1e-15)), math.log10(max(high, 1e-15))
        return cls(axis.scale == "log", low, high if high > low else low + 1.0, start, end)

    def __call__(self, value: float) -> float:
        place = math.log10(max(value, 1e-15)) if self.is_log else value
        return self.start + (place - self.low) / (self.high - self.low) * (self.end - self.start)

    def inside(self, value: float) -> float:
        """The place, or the edge nearest to it."""
        first, last = sorted((self.start, self.end))
        return min(max(self(value), first), last)

    def ticks(self, wanted: int) -> list[tuple[float, float | None]]:
        """Round values inside, each with the step between them; None where each is its own power of ten."""
        if self.is_log and self.high - self.low >= FEWEST_POWERS:
            every = max(1, math.ceil((self.high - self.low) / max(wanted, 1)))
            return [(10.0**p, None) for p in range(math.ceil(self.low), math.floor(self.high) + 1, every)]
        low, high = (10**self.low, 10**self.high) if self.is_log else (self.low, self.high)
        step = nice_step(high - low, max(wanted, 1))
        numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        return [(number * step, step) for number in numbers]


def nice_step(span: float, wanted: int) -> float:
    """The round step nearest to what would give so many ticks."""
    rough = math.log10(span / wanted)
    power = math.floor(rough)
    nearest = min((1, 2, 5, 10), key=lambda step: abs(math.log10(step) + power - rough))
    return float(nearest * 10.0**power)


def padded(values: Sequence[float], axis: Axis, room: float = 0.05) -> tuple[float, float]:
    """From the least to the largest value, and a little more."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return (0.1, 10.0) if axis.scale == "log" else (0.0, 1.0)
    if axis.measures == "change":
        finite += [-SMALLEST_CHANGE_SHOWN, SMALLEST_CHANGE_SHOWN]
    low, high = min(finite), max(finite)
    if axis.scale == "log":
        ratio = max((high / low) ** room, 1.05) if low > 0 else 1.05
        return low / ratio, high * ratio
    margin = (high - low or abs(low) or 1.0) * room
    return low - margin, high + margin


def tick_text(axis: Axis, value: float, step: float | None) -> str:
    """`5 µs`, `+2 %`, `1.5×` or `1,000`, by what the axis measures."""
    if axis.measures == "seconds":
        unit, scale = select_unit(value)
        return "0" if value == 0 else f"{_digits(value / scale, None if step is None else step / scale)} {_sign(unit)}"
    if axis.measures == "change":
        percent = _digits(abs(value) * 100, None if step is None else step * 100)
        return "0" if abs(value) < 1e-12 else f"{'+' if value > 0 else '−'}{percent} %"
    if axis.measures == "ratio":
        return f"{value:.3g}×"
    return f"{value:,.0f}" if value < 1e6 else f"10^{math.log10(value):.3g}"


def _digits(value: float, step: float | None) -> str:
    if step is None:
        return f"{value:.3g}"
    return f"{value:.{min(max(0, -math.floor(math.log10(step) + 1e-9)), 6)}f}"


def _sign(unit: str) -> str:
    return "µs" if unit == "us" else unit
