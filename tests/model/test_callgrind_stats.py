from __future__ import annotations

import pytest

from photometer.model.callgrind_stats import CallgrindStats, standardized_function
from photometer.model.function_counts import FunctionCounts
from photometer.model.instruction_counts import InstructionFigures
from photometer.model.task import TaskSpec


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
