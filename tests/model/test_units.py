from __future__ import annotations

import math

import pytest
import torch.utils.benchmark as torch_benchmark
from hypothesis import given, strategies as st

from photometer.model.units import format_seconds, select_unit, trim_sigfig, unit_to_english


@given(st.floats(1e-9, 999.0))
def test_unit_is_torchs_away_from_the_edges(t: float) -> None:
    # At an exact power of a thousand torch's float32 logarithm falls to either side.
    exponent = math.log10(t) / 3
    if abs(exponent - round(exponent)) > 1e-6:
        assert select_unit(t) == torch_benchmark.select_unit(t)


@pytest.mark.parametrize(
    ("t", "unit"), [(1e-6, "us"), (1e-3, "ms"), (1.0, "s"), (0.0, "ns"), (1e-12, "ns"), (5000, "s"), (math.inf, "s")]
)
def test_unit_at_the_edges(t: float, unit: str) -> None:
    assert select_unit(t)[0] == unit


@pytest.mark.parametrize(("x", "n", "expected"), [(3.14159, 2, 3.1), (1234.5, 2, 1200), (0.00123, 1, 0.001), (0, 3, 0)])
def test_trim(x: float, n: int, expected: float) -> None:
    assert trim_sigfig(x, n) == pytest.approx(expected)


@given(st.floats(1e-3, 1e6), st.integers(1, 4))
def test_trim_agrees_with_torch(x: float, n: int) -> None:
    step = 10 ** (math.ceil(math.log10(x)) - n)
    assert abs(trim_sigfig(x, n) - x) <= step * 0.5001
    # torch rounds in float32; a value half-way between two may go either way.
    assert abs(trim_sigfig(x, n) - torch_benchmark.trim_sigfig(x, n)) <= step * 1.001


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_trim_wants_a_whole_number(n: float) -> None:
    with pytest.raises(ValueError, match="significant figures"):
        trim_sigfig(1.0, n)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("t", "text"),
    [(1.234e-6, "1.234 us"), (0, "0 ns"), (123.456e-3, "123.5 ms"), (9.9999e-7, "1000.0 ns"), (math.inf, "unknown")],
)
def test_format_seconds(t: float, text: str) -> None:
    assert format_seconds(t) in (text, text.replace(".0", ""))


def test_english() -> None:
    assert [unit_to_english(u) for u in ("ns", "us", "ms", "s")] == [
        "nanosecond",
        "microsecond",
        "millisecond",
        "second",
    ]
