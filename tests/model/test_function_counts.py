from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from photometer.errors import MeasurementError
from photometer.model.function_counts import FunctionCount, FunctionCounts


def counts(inclusive: bool = False, **values: int) -> FunctionCounts:
    return FunctionCounts.from_mapping(values, inclusive=inclusive)


def as_dict(table: FunctionCounts) -> dict[str, int]:
    return {function: count for count, function in table}


def test_it_is_a_sequence_of_counts_largest_first() -> None:
    table = counts(f=1, g=30, h=-4)
    assert list(table) == [FunctionCount(30, "g"), FunctionCount(1, "f"), FunctionCount(-4, "h")]
    assert (len(table), table.sum()) == (3, 27)
    assert (table[0].count, table[-1].function) == (30, "h")
    part = table[:2]
    assert isinstance(part, FunctionCounts)
    assert as_dict(part) == {"g": 30, "f": 1}


def test_a_difference_drops_what_cancels() -> None:
    assert as_dict(counts(f=5, g=7) - counts(f=5, g=2, h=9)) == {"g": 5, "h": -9}
    assert as_dict(counts(f=5) + counts(f=1, g=2)) == {"f": 6, "g": 2}


def test_a_product_is_cut_to_whole_numbers() -> None:
    assert as_dict(counts(f=250, g=3, h=-99) * 0.01) == {"f": 2}
    assert as_dict(counts(f=2) * 3) == {"f": 6}


def test_filter_transform_and_denoise() -> None:
    table = FunctionCounts.from_mapping(
        {"a.c:f": 1, "b.c:f": 20, "Objects/dictobject.c:lookdict_unicode": 300, "dictobject.c:lookdict": 4},
        inclusive=False,
    )
    assert as_dict(table.filter(lambda name: name.startswith("b"))) == {"b.c:f": 20}
    assert as_dict(table.transform(lambda name: name.split(":")[1]))["f"] == 21
    assert table.denoise().sum() == 25


def test_inclusive_and_exclusive_do_not_mix() -> None:
    with pytest.raises(MeasurementError, match=r"cannot be combined[\s\S]*stats\(inclusive=True\)"):
        counts(f=1) + counts(inclusive=True, f=1)
    assert (counts(inclusive=True, f=1) * 2).inclusive


def test_repr_shows_the_ends_shortens_names_and_gives_the_total_of_exclusive_counts_alone() -> None:
    rows = tuple(FunctionCount(1000 - i, f"function_{i}_" + "x" * 100) for i in range(50))
    shown = repr(FunctionCounts(rows, inclusive=False, _linewidth=80)).splitlines()
    assert len(shown) == 1 + 18 + 1 + 2
    assert shown[10].strip() == "..."
    assert all(len(line) <= 80 for line in shown[1:])
    assert shown[-1] == f"Total: {sum(c for c, _ in rows)}"
    assert "Total" not in repr(FunctionCounts(rows, inclusive=True))
    assert len(repr(FunctionCounts(rows, inclusive=True)[:30]).splitlines()) == 31
    assert "0 functions" in repr(FunctionCounts((), inclusive=False))


tables = st.dictionaries(st.sampled_from("abcdef"), st.integers(-(10**12), 10**12)).map(
    lambda values: FunctionCounts.from_mapping(values, inclusive=False)
)


@given(tables, tables)
def test_adding_and_taking_away_again_changes_nothing(one: FunctionCounts, other: FunctionCounts) -> None:
    assert one + other - other == one
    assert (one - other).sum() == one.sum() - other.sum()
    assert len(one - one) == 0


@given(tables)
def test_equal_tables_are_equal_and_hash_alike(table: FunctionCounts) -> None:
    again = FunctionCounts(tuple(table), table.inclusive)
    assert again == table
    assert hash(again) == hash(table)
    assert table != FunctionCounts(tuple(table), not table.inclusive)
