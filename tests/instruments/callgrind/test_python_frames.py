"""Python functions by their trampolines: profiles as Callgrind writes them, and a real one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from photometer.errors import CallgrindFileError
from photometer.instruments.callgrind.call_tree import folded_stacks
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.python_frames import (
    FRAME_OPTIONS,
    LOOP,
    NO_FRAMES,
    STATEMENT,
    CallSite,
    below_statement,
    fitted_stacks,
    is_python_frame,
    parse_frame_map,
    python_stacks,
    with_python_frames,
)
from photometer.model.task import TaskSpec
from photometer.session.session import Session
from tests.instruments.callgrind import profile_of

MAP = """\
547c00b b py::_photometer_blocks:<photometer snippet 2>
547c016 b py::Tagged.__torch_function__:me/tagged.py
547c021 b py::_photometer_blocks.<locals>.helper:<photometer snippet 2>
547c02c b py::_handle_fromlist:<frozen importlib._bootstrap>
not a line of the map
"""
STUB = "0x000000000547c0{}".format


def test_names_are_short_and_the_users_own() -> None:
    assert parse_frame_map(MAP).names == {
        0x547C00B: STATEMENT,
        0x547C016: "Tagged.__torch_function__ (me/tagged.py)",
        0x547C021: "helper (set-up)",
        0x547C02C: "_handle_fromlist (<frozen importlib._bootstrap>)",
    }


def test_a_trampoline_and_the_loop_below_it_are_one_function() -> None:
    profile = profile_of(
        {
            "worker": 1,
            STUB("0b"): 2,
            f"{LOOP}'{STUB('0b')}": 30,
            STUB("16"): 4,
            f"{LOOP}'2'{STUB('16')}": 500,
            "add": 60,
        },
        [
            ("worker", STUB("0b"), 1, 596),
            (STUB("0b"), f"{LOOP}'{STUB('0b')}", 1, 594),
            (f"{LOOP}'{STUB('0b')}", STUB("16"), 1, 564),
            (STUB("16"), f"{LOOP}'2'{STUB('16')}", 1, 560),
            (f"{LOOP}'2'{STUB('16')}", "add", 1, 60),
        ],
    )
    named = with_python_frames(profile, parse_frame_map(MAP))
    assert named.total() == profile.total()
    tagged = "Tagged.__torch_function__ (me/tagged.py)"
    assert dict(folded_stacks(named)) == {
        ("worker",): 1,
        ("worker", STATEMENT): 32,
        ("worker", STATEMENT, tagged): 504,
        ("worker", STATEMENT, tagged, "add"): 60,
    }
    assert below_statement(("worker", STATEMENT, tagged)) == (STATEMENT, tagged)
    assert below_statement(("worker",)) == ("worker",)


def test_without_trampolines_the_loop_is_one_function() -> None:
    profile = profile_of({"f": 1, f"{LOOP}'f": 2, f"{LOOP}'2'g": 3}, [("f", f"{LOOP}'f", 1, 5)])
    named = with_python_frames(profile, NO_FRAMES)
    assert {cost.function.name for cost in named.self_costs} == {"f", LOOP}


def test_no_option_names_a_beginning_of_the_loops_name() -> None:
    """Callgrind keeps options by name in a tree, and forgets those of a name whose beginning has some too."""
    others = [option.split("=")[1] for option in FRAME_OPTIONS[1:]]
    assert not [name for name in others if LOOP.startswith(name)]


def path(number: int, parent: int, function: str, calls: list[list[Any]] | None = None) -> dict[str, Any]:
    address = 0x6000000100
    row = {"address": address + 16 * number, "parent": address + 16 * parent, "function": function}
    return {**row, "file": "net/model.py", "line": 10 * number, "calls": calls or []}


# forward calls a module, and so does gate, which forward calls: both go through `call`.
TREE = {
    "runs": 3,
    "paths": [
        {**path(1, 0, "_photometer_blocks"), "file": "<photometer snippet 1>"},
        path(2, 1, "forward", [["gate", 21, 3], ["call", 22, 3]]),
        path(3, 2, "gate", [["call", 31, 3], ["contiguous", 32, 6]]),
        path(4, 2, "call"),
        path(5, 3, "call"),
    ],
}


def loop(number: int) -> str:
    return f"{LOOP}'2'0x{0x6000000100 + 16 * number:016x}"


def tramp(number: int) -> str:
    return f"0x{0x6000000100 + 16 * number:016x}"


def test_every_path_of_calls_has_exactly_what_it_executed() -> None:
    profile = profile_of(
        {
            loop(1): 10,
            loop(2): 20,
            loop(3): 30,
            loop(4): 4,
            loop(5): 5,
            "PyObject_Call": 100,
            "linear": 800,
            "worker": 7,
        },
        [
            ("worker", tramp(1), 1, 969),
            (loop(1), tramp(2), 1, 959),
            (loop(2), tramp(3), 1, 685),
            # Both modules are called through one native function, of which Callgrind does not say who called what.
            (loop(2), "PyObject_Call", 1, 254),
            (loop(3), "PyObject_Call", 1, 655),
            ("PyObject_Call", tramp(4), 1, 204),
            ("PyObject_Call", tramp(5), 1, 605),
            (loop(4), "linear", 1, 200),
            (loop(5), "linear", 1, 600),
        ],
    )
    frames = parse_frame_map(json.dumps(TREE))
    weights: dict[str, int] = {}
    stacks = python_stacks(profile, frames)
    for stack, count in stacks:
        for name in dict.fromkeys(stack):
            weights[name] = weights.get(name, 0) + count
    assert weights[STATEMENT] == 969
    assert weights["forward (net/model.py)"] == 959
    assert weights["gate (net/model.py)"] == 685
    called = [(stack, count) for stack, count in stacks if stack[-1] == "linear"]
    assert sorted(count for _, count in called) == [200, 600]
    below_gate = next(stack for stack, count in called if count == 600)
    assert [name.split()[0] for name in below_gate] == ["the", "forward", "gate", "call", "linear"]
    assert not any("worker" in stack for stack, _ in stacks)


def test_a_tree_tells_who_calls_what_on_which_line() -> None:
    frames = parse_frame_map(json.dumps(TREE))
    assert frames.calls["gate (net/model.py)"] == {CallSite("call", 31): 1.0, CallSite("contiguous", 32): 2.0}
    assert frames.lines["gate (net/model.py)"] == 30


@pytest.mark.parametrize(
    "text", ["{", '{"runs": 0, "paths": [1]}', json.dumps({"runs": 1, "paths": [path(1, 1, "f")]})]
)
def test_a_damaged_tree_is_refused(text: str) -> None:
    with pytest.raises(CallgrindFileError, match="cannot be read"):
        parse_frame_map(text)


def test_python_frames_are_known_by_their_files() -> None:
    assert is_python_frame(STATEMENT)
    assert is_python_frame("f (set-up)")
    assert is_python_frame("f (<frozen os>)")
    assert not is_python_frame("at::add(at::Tensor const&)")
    assert not is_python_frame("(anonymous namespace)::f (int)")


@pytest.mark.warm
@pytest.mark.slow
def test_a_real_statements_python_functions_are_told() -> None:
    setup = "def outer(v):\n    inner(v)\n    return inner(v)\ndef inner(v):\n    return sorted(v)\nv = [3, 1, 2]"
    with Session() as session:
        counter = InstructionCounter(session, python_frames=True)
        task = CountTask(TaskSpec("outer(v)", setup))
        counts = counter.count(task).instruction_counts()
        counted = counter.count(task, python_frames=True)
    stacks = fitted_stacks(counted.stacks(), counts)
    assert sum(count for _, count in stacks) == counts.without_loop.outside_allocator
    assert any(stack[:3] == (STATEMENT, "outer (set-up)", "inner (set-up)") for stack, _ in stacks)
    calls = counted.frame_maps[0].calls["outer (set-up)"]
    assert {(site.callee, site.line): times for site, times in calls.items()} == {("inner", 2): 1.0, ("inner", 3): 1.0}
