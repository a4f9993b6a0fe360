from __future__ import annotations

import math

import pytest
import torch.utils.benchmark as torch_benchmark
from hypothesis import given, strategies as st

from photometer.model.units import (
    change,
    format_amount,
    format_bytes,
    format_count,
    format_difference,
    format_digits,
    format_interval,
    format_number,
    format_ratio,
    format_seconds,
    percent,
    select_unit,
    shown_unit,
    span,
    trim_sigfig,
    unit_to_english,
)


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
    [
        (1.234e-6, "1.234 µs"),
        (0, "0 ns"),
        (123.456e-3, "123.5 ms"),
        (9.9999e-7, "1.000 µs"),
        (-2e-6, "-2.000 µs"),
        (math.inf, "unknown"),
    ],
)
def test_format_seconds(t: float, text: str) -> None:
    assert format_seconds(t) == text


def test_english() -> None:
    assert [unit_to_english(u) for u in ("ns", "us", "ms", "s")] == [
        "nanosecond",
        "microsecond",
        "millisecond",
        "second",
    ]


def test_micro_is_torchs_where_torch_asks_and_ours_where_it_is_shown() -> None:
    assert select_unit(2e-6) == ("us", 1e-6)
    assert shown_unit(2e-6) == ("µs", 1e-6)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.234e-6, "+1.23 µs"),
        (-1.6e-9, "-1.6 ns"),
        (24e-9, "+24 ns"),
        (0.0, "0.0 ns"),
        (-1e-12, "0.0 ns"),
        (math.inf, "+anything"),
        (-math.inf, "-anything"),
    ],
)
def test_a_difference_has_a_sign_and_nothing_below_a_tenth_of_a_nanosecond(seconds: float, text: str) -> None:
    assert format_difference(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (4096, "4.0 KiB"),
        (-1536, "-1.5 KiB"),
        (3 << 20, "3.0 MiB"),
        (1 << 60, "1,048,576.0 TiB"),
    ],
)
def test_bytes_have_units(number: int, text: str) -> None:
    assert format_bytes(number) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(9310.0, "9,310"), (9310.37, "9,310"), (2.35, "2.35"), (2.5, "2.5"), (0, "0"), (-4, "-4"), (math.inf, "unknown")],
)
def test_a_count_has_a_fraction_only_as_a_mean_of_few(count: float, text: str) -> None:
    assert format_count(count) == text
    assert format_count(1500, signed=True) == "+1,500"


@pytest.mark.parametrize(
    ("relative", "text"),
    [
        (0.0042, "0.42 %"),
        (0.081, "8.1 %"),
        (1.2, "120 %"),
        (-0.0083, "-0.83 %"),
        (0.0, "0 %"),
        (-1e-9, "0.000 %"),
        (math.inf, "any amount"),
    ],
)
def test_per_cent_has_two_digits(relative: float, text: str) -> None:
    assert percent(relative) == text


def test_a_change_has_a_sign_and_an_open_end_is_said_in_words() -> None:
    assert [change(ratio) for ratio in (1.081, 0.5, 1.0)] == ["+8.1 %", "-50 %", "0 %"]
    assert span((0.995, 1.02)) == "-0.50 % to +2.0 %"
    assert span((0.99, math.inf)) == "-1.0 % to anything"
    assert span((0.0, 1.002)) == "anything to +0.20 %"
    assert format_interval((1e-6, 2e-6), format_seconds) == "1.000 µs to 2.000 µs"


def test_ratios_amounts_and_other_numbers() -> None:
    assert [format_ratio(ratio) for ratio in (1.254, 24.61, 1830)] == ["1.25×", "24.6×", "1,830×"]
    assert [format_amount(v, "B") for v in (2.147e9, 786432, 512, 3.2e-6)] == ["2.15 GB", "786 kB", "512 B", "3.20 µB"]
    assert [format_digits(value) for value in (0, 2.154, 21.5, 2154)] == ["0", "2.15", "21.5", "2,154"]
    assert [format_number(value) for value in (3.0, 1e6, 0.123456, math.nan)] == ["3", "1,000,000", "0.12346", "nan"]
