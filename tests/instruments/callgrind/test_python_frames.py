"""Python functions by their trampolines: a profile as Callgrind writes it for Python 3.12, and a real one."""

from __future__ import annotations

import sys

import pytest

from photometer.instruments.callgrind.call_tree import folded_stacks
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.python_frames import (
    FRAME_OPTIONS,
    LOOP,
    STATEMENT,
    below_statement,
    parse_frame_map,
    with_python_frames,
)
from photometer.model.task import TaskSpec
from photometer.session.session import Session
from tests.instruments.callgrind import profile_of

MAP = """\
547c00b b py::_photometer_blocks:<photometer snippet 2>
547c016 b py::Tagged.__torch_function__:/home/me/tagged.py
547c021 b py::_photometer_blocks.<locals>.helper:<photometer snippet 2>
547c02c b py::_handle_fromlist:<frozen importlib._bootstrap>
not a line of the map
"""
STUB = "0x000000000547c0{}".format


def test_names_are_short_and_the_users_own() -> None:
    assert parse_frame_map(MAP) == {
        0x547C00B: STATEMENT,
        0x547C016: "Tagged.__torch_function__ (tagged.py)",
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
    tagged = "Tagged.__torch_function__ (tagged.py)"
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
    named = with_python_frames(profile, {})
    assert {cost.function.name for cost in named.self_costs} == {"f", LOOP}


def test_no_option_names_a_beginning_of_the_loops_name() -> None:
    """Callgrind keeps options by name in a tree, and forgets those of a name whose beginning has some too."""
    others = [option.split("=")[1] for option in FRAME_OPTIONS[1:]]
    assert not [name for name in others if LOOP.startswith(name)]


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python has had trampolines since 3.12")
def test_a_real_statements_python_functions_are_told() -> None:
    setup = "def outer(v):\n    return inner(v)\ndef inner(v):\n    return sorted(v)\nv = [3, 1, 2]"
    with Session() as session:
        counted = InstructionCounter(session, python_frames=True).count(CountTask(TaskSpec("outer(v)", setup)))
    stacks = [below_statement(stack) for stack, _ in folded_stacks(counted.profiles[0])]
    assert any(stack[:3] == (STATEMENT, "outer (set-up)", "inner (set-up)") for stack in stacks)
