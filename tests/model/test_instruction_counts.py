from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from photometer.errors import MeasurementError, ResultsFileError
from photometer.model.instruction_counts import (
    CallgrindStats,
    FunctionCount,
    FunctionCounts,
    InstructionCounts,
    InstructionFigures,
    RepeatDifference,
    stable_repeat_of,
    standardized_function,
)
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec

TASK = TaskSpec("y = x * w", "x = w = 1", label="product")


def example(**changes: Any) -> InstructionCounts:
    values: dict[str, Any] = {
        "task_spec": TASK,
        "number_per_run": 100,
        "repeats": (
            InstructionFigures(1237, 1020, 12),
            InstructionFigures(1200, 1000, 12),
            InstructionFigures(1200, 1000, 12),
        ),
        "loop_baseline": InstructionFigures(200, 150, 2),
        "top_functions": (FunctionCount(700, "a.c:f [/lib/a.so]"),),
        "differences": (
            RepeatDifference(0, 37, tuple(FunctionCount(n, f"f{n}") for n in (30, -20, 15, 9, 3))),
            RepeatDifference(2, -1, ()),
        ),
        "events": {"Ir": 1200, "Bcm": 7},
    }
    return InstructionCounts(**{**values, **changes})


@pytest.mark.parametrize(
    ("totals", "repeat"),
    [([5], 0), ([9, 5, 5], 2), ([5, 5, 9], 1), ([5, 9, 5, 9], 3), ([1, 2, 3], 2), ([7, 7, 7], 2)],
)
def test_the_stable_repeat_is_the_last_of_the_most_frequent_total(totals: list[int], repeat: int) -> None:
    assert stable_repeat_of(totals) == repeat


def test_figures_per_run_are_without_the_loop() -> None:
    counts = example()
    assert counts.stable == InstructionFigures(1200, 1000, 12)
    assert (counts.totals, counts.outside_allocator) == ((1237, 1200, 1200), (1020, 1000, 1000))
    assert counts.allocator_calls == (12, 12, 12)
    assert counts.instructions_per_run == 10.0
    assert counts.outside_allocator_per_run == 8.5
    assert counts.allocator_calls_per_run == 0.1
    assert example(loop_baseline=None).instructions_per_run == 12.0


def test_exactness_and_the_reasons_of_repeats_that_differ() -> None:
    assert not example().is_exact
    assert example(repeats=(InstructionFigures(1, 1, 0),) * 3).is_exact
    first, third = example().difference_reasons
    assert first == "repeat 1 executed 37 instructions more: +30 f30, -20 f-20, +15 f15, 2 more functions"
    assert third == "repeat 3 executed 1 instruction fewer"


def test_repr_is_one_short_line() -> None:
    assert repr(example()) == (
        "<photometer.InstructionCounts 8.5 per run, 10.0 with the allocator; 3 repeats, not all equal>"
    )


def test_printing_tells_the_figures_and_what_is_wrong_with_them() -> None:
    shown = str(example(frozen_layout=False, reasons=("personality was refused",)))
    for part in (
        "product",
        "8.5 instructions per run outside the allocator, without the loop",
        "10.0 with the allocator's own",
        "not all equal",
    ):
        assert part in shown
    assert "not frozen: personality was refused" in shown
    assert "not frozen" not in str(example())


@pytest.mark.parametrize(
    "changes", [{"number_per_run": 0}, {"repeats": ()}, {"frozen_layout": False}], ids=["runs", "repeats", "no reason"]
)
def test_counts_that_cannot_be(changes: dict[str, Any]) -> None:
    with pytest.raises(MeasurementError):
        example(**changes)


def test_json_there_and_back() -> None:
    counts = example(frozen_layout=False, reasons=("personality was refused",))
    assert from_record(InstructionCounts, json.loads(json.dumps(to_record(counts)))) == counts
    assert to_record(counts)["kind"] == "instruction_counts"
    assert from_record(InstructionCounts, to_record(example(loop_baseline=None))).loop_baseline is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("task_spec", None),
        ("task_spec", {}),
        ("number_per_run", "100"),
        ("number_per_run", True),
        ("number_per_run", 0),
        ("repeats", None),
        ("repeats", []),
        ("repeats", [1]),
        ("repeats", [{"total": 1, "outside_allocator": 1.5, "allocator_calls": 0}]),
        ("repeats", [{"total": 1}]),
        ("loop_baseline", 3),
        ("top_functions", [[1, 2]]),
        ("top_functions", [["1", "f"]]),
        ("top_functions", {}),
        ("differences", [3]),
        ("differences", [{"repeat": 0, "instructions": "many", "functions": []}]),
        ("events", [1]),
        ("events", {"Ir": "x"}),
        ("frozen_layout", 1),
        ("reasons", [1]),
        ("reasons", "because"),
    ],
)
def test_a_damaged_record_is_refused(field: str, value: object) -> None:
    record = to_record(example())
    record[field] = value
    with pytest.raises(ResultsFileError):
        from_record(InstructionCounts, record)


def test_it_can_be_a_key() -> None:
    assert len({example(), example()}) == 1


def stats(folder: str = "/tmp/one", extra: int = 0, symbols: bool = True) -> CallgrindStats:
    def table(inclusive: bool, **more: int) -> FunctionCounts:
        rows = {f"{folder}/Python-3.11/Python/ceval.c:eval [{folder}/libpython.so]": 1000 + extra, **more}
        return FunctionCounts.from_mapping(rows, inclusive=inclusive)

    return CallgrindStats(
        task_spec=TaskSpec("x.f()", "x = 1", num_threads=2),
        number_per_run=100,
        built_with_debug_symbols=symbols,
        baseline_inclusive_stats=table(True),
        baseline_exclusive_stats=table(False),
        stmt_inclusive_stats=table(True, root=5000),
        stmt_exclusive_stats=table(False, **{"Objects/dictobject.c:lookdict_unicode": 50}),
        stmt_callgrind_out="events: Ir",
        figures=InstructionFigures(1050, 1011, 3),
    )


def test_stats_and_counts() -> None:
    one = stats()
    assert one.stats() is one.stmt_exclusive_stats
    assert one.stats(inclusive=True) is one.stmt_inclusive_stats
    assert (one.counts(), one.counts(denoise=True)) == (1050, 1000)


def test_builds_in_different_folders_cancel_once_they_are_standardized() -> None:
    one, other = stats("/tmp/one", extra=7), stats("/home/u/two")
    assert len(one.delta(other)) == 2
    difference = one.as_standardized().delta(other.as_standardized())
    assert [tuple(row) for row in difference] == [(7, "Python/ceval.c:eval")]
    assert len(one.as_standardized().delta(one.as_standardized(), inclusive=True)) == 0
    assert one.as_standardized().stmt_callgrind_out is None
    assert one.as_standardized().figures == one.figures


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("/w/pytorch/build/../aten/Utils.cpp:at::f(int) [/w/libtorch.so]", "build/../aten/Utils.cpp:at::f(int)"),
        ("/w/build/aten/src/ATen/Ops.h:at::add() [l]", "build/aten/src/ATen/Ops.h:at::add()"),
        ("/t/Python-3.11.7/Objects/call.c:f", "Objects/call.c:f"),
        ("/t/Python-3.11.7/./Include/object.h:f", "Include/object.h:f"),
        ("./malloc/./malloc/malloc.c:free [/usr/lib/libc.so.6]", "./malloc/./malloc/malloc.c:free"),
        ("???:f(A<B>)::operator[](int) [clone .isra.0] [/l.so]", "???:f(A<B>)::operator[](int) [clone .isra.0]"),
        ("???:ns::/Python/odd", "???:ns::/Python/odd"),
    ],
)
def test_standardized_names(function: str, expected: str) -> None:
    assert standardized_function(function) == expected


def test_repr() -> None:
    shown = repr(stats())
    assert all(part in shown for part in ("x.f()", "1,050", "1,000", "1,011", "100 runs per measurement, 2 threads"))
    assert "debug symbols" not in shown
    assert "debug symbols" in repr(stats(symbols=False))


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
