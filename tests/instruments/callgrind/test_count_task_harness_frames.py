"""Inclusive counts are the statement's: the frames of the loop around it are left out."""

from __future__ import annotations

from photometer.instruments.callgrind.count_task import inclusive_counts_of_statement
from photometer.instruments.callgrind.profile import Call, CallgrindProfile, Function, SelfCost
from photometer.model.instruction_counts import FunctionCounts


def function(name: str) -> Function:
    return Function("lib.so", "file.c", name)


def profile(own: dict[str, int], calls: list[tuple[str, str, int, int]]) -> CallgrindProfile:
    """Own costs by function, and calls as (caller, callee, how often, cost)."""
    total = sum(own.values())
    return CallgrindProfile(
        "made",
        "callgrind",
        "python",
        1,
        1,
        ("Ir",),
        (total,),
        tuple(SelfCost(function(name), "file.c", (cost,)) for name, cost in own.items()),
        tuple(Call(function(a), "file.c", function(b), count, (cost,)) for a, b, count, cost in calls),
    )


LOOP = "_PyEval_EvalFrameDefault"
HARNESS = {"_PyObject_MakeTpCall": 20, "gen_send": 10, "ffi_call": 30}
EMPTY = profile(
    {**HARNESS, LOOP: 100},
    [
        ("_PyObject_MakeTpCall", "gen_send", 1, 110),
        ("gen_send", LOOP, 1, 100),
        ("_PyObject_MakeTpCall", "ffi_call", 3, 30),
    ],
)


def named(counts: FunctionCounts) -> dict[str, int]:
    return {text.partition(":")[2].partition(" ")[0]: count for count, text in counts}


def test_frames_above_and_beside_the_statement_are_left_out() -> None:
    counted = profile(
        {**HARNESS, LOOP: 300, "add": 1000},
        [
            ("_PyObject_MakeTpCall", "gen_send", 1, 1310),
            ("gen_send", LOOP, 1, 1300),
            ("_PyObject_MakeTpCall", "ffi_call", 3, 30),
            (LOOP, "add", 100, 1000),
        ],
    )
    assert named(inclusive_counts_of_statement(counted, EMPTY)) == {LOOP: 1300, "add": 1000}


def test_a_statement_that_calls_the_same_functions_keeps_them() -> None:
    counted = profile(
        {**HARNESS, LOOP: 300, "ffi_call": 1030, "_PyObject_MakeTpCall": 520},
        [
            ("_PyObject_MakeTpCall", "gen_send", 1, 1810),
            ("gen_send", LOOP, 1, 1800),
            (LOOP, "_PyObject_MakeTpCall", 100, 1500),
            ("_PyObject_MakeTpCall", "ffi_call", 103, 1030),
        ],
    )
    found = named(inclusive_counts_of_statement(counted, EMPTY))
    assert found == {LOOP: 1800, "_PyObject_MakeTpCall": 1500, "ffi_call": 1030}


def test_of_the_empty_loop_the_interpreter_is_left() -> None:
    assert named(inclusive_counts_of_statement(EMPTY, EMPTY)) == {LOOP: 100}
