"""Numbers with their units as text: times, counts, bytes, per cent, ratios, rates. Nothing else formats them.

One spelling each: `µs` (terminals without it get `us`, see report/escape.py), `-` as the minus sign, a space before the
unit and before `%`, commas between thousands. `select_unit`, `unit_to_english` and `trim_sigfig` are torch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_SCALE = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
GIB = 1024**3
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP_OF_BYTES = 1024
# A count of this size has no fraction that anyone reads; smaller ones are means of runs that differ.
SMALLEST_WHOLE_COUNT = 100
# Per cent below this are shown with the digits that three places leave.
MOST_PLACES_OF_PERCENT = 3
# Larger whole numbers are written with an exponent.
LARGEST_PLAIN_NUMBER = 1e15


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit in which `t` seconds is a number from 1 to 1000 (as far as units go), and its size in seconds.

    The name is torch's, `us`; `shown_unit` spells it as we do.
    """
    size = abs(t)
    if not math.isfinite(size):
        return "s", 1.0
    unit = "ns"
    for candidate, scale in _SCALE.items():
        # A hair of slack: 1e-6 seconds computed as 9.9999999e-07 is still "1 us".
        if size >= scale * (1 - 1e-9):
            unit = candidate
    return unit, _SCALE[unit]


def shown_unit(t: float) -> tuple[str, float]:
    """Return the unit that suits `t` seconds as it is shown, and its size in seconds."""
    unit, scale = select_unit(t)
    return "µs" if unit == "us" else unit, scale


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


def format_seconds(t: float, significant: int = 4, *, signed: bool = False) -> str:
    """Return `t` with its unit: 1.234e-6 is '1.234 µs'."""
    if not math.isfinite(t):
        return "unknown"
    # What rounds to a thousand nanoseconds is a microsecond.
    unit, scale = shown_unit(trim_sigfig(t, significant))
    scaled = t / scale
    if scaled == 0:
        return f"0 {unit}"
    leading = math.floor(math.log10(abs(scaled))) + 1
    decimals = max(significant - max(leading, 1), 0) if leading > 0 else significant - 1
    return f"{_number(scaled, decimals, signed)} {unit}"


def format_difference(seconds: float) -> str:
    """Return `+1.24 µs` or `-3.1 ns`: three digits, and none below a tenth of a nanosecond."""
    if not math.isfinite(seconds):
        return f"{'-' if seconds < 0 else '+'}anything"
    if abs(seconds) < 1e-7:
        return f"{_number(seconds * 1e9, 1 if abs(seconds) < 1e-8 else 0, signed=True)} ns"
    return format_seconds(seconds, 3, signed=True)


def format_count(count: float, *, signed: bool = False) -> str:
    """Return a count with commas. Only means of a few, such as 2.35 calls per run, have a fraction."""
    if not math.isfinite(count):
        return "unknown"
    if float(count).is_integer() or abs(count) >= SMALLEST_WHOLE_COUNT:
        return _number(round(count), 0, signed)
    return _number(count, 2, signed).rstrip("0").rstrip(".")


def format_bytes(number: float, *, signed: bool = False) -> str:
    """Return 512 B, 4.0 KiB, 1.5 MiB: one decimal, and whole bytes below a KiB."""
    size, unit = float(number), _BYTES[0]
    for unit in _BYTES:
        if abs(size) < _STEP_OF_BYTES or unit == _BYTES[-1]:
            break
        size /= _STEP_OF_BYTES
    return f"{_number(size, 0 if unit == 'B' else 1, signed)} {unit}"


def percent(relative: float, *, signed: bool = False) -> str:
    """Return two significant digits: 0.42 %, 8.1 %, 120 %."""
    value = 100.0 * relative
    if not math.isfinite(value):
        return "any amount"
    if value == 0.0:
        return "0 %"
    # A hair of slack: 0.9 - 1 is 9.999… %, and is to be written as 10 %.
    leading = math.floor(math.log10(abs(value)) + 1e-9)
    places = min(max(0, 1 - leading), MOST_PLACES_OF_PERCENT)
    return f"{_number(value, places, signed)} %"


def change(ratio: float) -> str:
    """Return the change of a ratio: 1.081 is `+8.1 %`."""
    return percent(ratio - 1.0, signed=True)


def format_ratio(ratio: float, significant: int = 3) -> str:
    """Return `1.25×`, `24.6×`, `183×`; below ten with as many digits as asked for."""
    return f"{ratio:.{significant - 1}f}×" if ratio < 10 else f"{ratio:.1f}×" if ratio < 100 else f"{ratio:,.0f}×"


def format_amount(value: float, unit: str) -> str:
    """Return three digits with a prefix: 2.15 GFLOP/s, 786 kB."""
    scale, prefix = next(((s, p) for s, p in _PREFIXES if abs(value) >= s), _PREFIXES[-1])
    return f"{format_digits(value / scale)} {prefix}{unit}".rstrip()


def format_digits(value: float) -> str:
    """Return three significant digits without an exponent."""
    if value == 0:
        return "0"
    leading = math.floor(math.log10(abs(value))) + 1
    return f"{value:,.{min(max(3 - leading, 0), 6)}f}"


def format_number(value: float) -> str:
    """Return a number of whatever kind: whole ones with commas, others to five digits."""
    is_whole = math.isfinite(value) and float(value).is_integer() and abs(value) < LARGEST_PLAIN_NUMBER
    return f"{value:,.0f}" if is_whole else f"{value:.5g}"


def format_interval(interval: tuple[float, float], text: Callable[[float], str]) -> str:
    """Return `1.20 µs to 1.31 µs`; an end that is not known is `anything`."""
    low, high = (text(end) if math.isfinite(end) else "anything" for end in interval)
    return f"{low} to {high}"


def span(interval: tuple[float, float]) -> str:
    """Return the interval of a ratio as signed per cent; an end that is not known is `anything`."""
    low, high = interval
    return format_interval((low if low > 0.0 else -math.inf, high), change)


def _number(value: float, places: int, signed: bool = False) -> str:
    """Return the number with commas; one that rounds to nothing has no sign."""
    text = f"{value:{'+' if signed else ''},.{places}f}"
    return text if any(digit in text for digit in "123456789") else text.lstrip("+-")
