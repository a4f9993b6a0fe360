"""Python functions in a Callgrind profile, by the trampolines that Python 3.12 and later make for them.

In: a profile taken with FRAME_OPTIONS, and the map of trampolines that the worker read. Out: the profile in which a
trampoline and the interpreter's loop below it are one function, named as in Python. If the interpreter has no
trampolines the loop is one function, as it is without the options.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from photometer.instruments.callgrind.profile import UNKNOWN, Call, CallgrindProfile, Function

LOOP = "_PyEval_EvalFrameDefault"
# Functions between one Python function and the next: they would connect all functions in one cycle.
_BETWEEN = (
    "py_trampoline_evaluator",
    "_PyEval_Vector",
    "_PyFunction_Vectorcall",
    "_PyObject_VectorcallTstate",
    "PyObject_Vectorcall",
    "_PyObject_Vectorcall",
    "method_vectorcall",
    "_PyVectorcall_Call",
)
# The loop is split by its caller, a trampoline. (No other option may name a prefix of its name: Callgrind 3.19 then
# ignores this one.)
FRAME_OPTIONS = (f"--separate-callers1={LOOP}", *(f"--fn-skip={name}" for name in _BETWEEN))

# The name of the frame of the statement's own bytecode; above it is only the worker.
STATEMENT = "the statement"
_OWN_LOOP = "_photometer_blocks"
_MAP_LINE = re.compile(r"(?P<address>[0-9a-f]+) [0-9a-f]+ py::(?P<function>.*?):(?P<file>.+)")
_ADDRESS = re.compile(r"0x0*([0-9a-f]+)")


def frame_map_path(pid: int) -> Path:
    """Return where CPython writes the map of a process; the path cannot be changed."""
    return Path(f"/tmp/perf-{pid}.map")


def parse_frame_map(text: str) -> dict[int, str]:
    """Return names by the address of the trampoline: `Tagged.__torch_function__ (tagged.py)`."""
    names = {}
    for line in text.splitlines():
        found = _MAP_LINE.fullmatch(line.strip())
        if found is not None:
            names[int(found["address"], 16)] = _frame(found["function"], found["file"])
    return names


def below_statement(stack: tuple[str, ...]) -> tuple[str, ...]:
    """Return the stack without the frames of the worker, if the statement's frame is in it."""
    return stack[stack.index(STATEMENT) :] if STATEMENT in stack else stack


def with_python_frames(profile: CallgrindProfile, names: dict[int, str]) -> CallgrindProfile:
    """Return the same costs with Python's names. Calls between the parts of one function are dropped."""
    renamed = _renamer(names)
    self_costs = tuple(dataclasses.replace(cost, function=renamed(cost.function)) for cost in profile.self_costs)
    calls = (
        Call(renamed(call.caller), call.caller_file, renamed(call.callee), call.count, call.costs)
        for call in profile.calls
    )
    return dataclasses.replace(
        profile, self_costs=self_costs, calls=tuple(call for call in calls if call.caller != call.callee)
    )


def _renamer(names: dict[int, str]) -> Callable[[Function], Function]:
    known: dict[Function, Function] = {}

    def renamed(function: Function) -> Function:
        if function not in known:
            known[function] = _named(function, names)
        return known[function]

    return renamed


def _named(function: Function, names: dict[int, str]) -> Function:
    # `loop'2'0x000000000547c016'caller` is the loop in its second activation, below that trampoline.
    parts = function.name.split("'")
    is_loop = parts[0] == LOOP
    for part in parts[:1] if not is_loop else parts[1:]:
        address = _ADDRESS.fullmatch(part)
        if address is not None and int(address[1], 16) in names:
            return Function(UNKNOWN, UNKNOWN, names[int(address[1], 16)])
    return dataclasses.replace(function, name=LOOP) if is_loop and len(parts) > 1 else function


def _frame(function: str, file: str) -> str:
    if function == _OWN_LOOP:
        return STATEMENT
    # What the user's own set-up defines is inside the loop's function.
    function = function.removeprefix(f"{_OWN_LOOP}.<locals>.")
    place = "set-up" if file.startswith("<photometer snippet") else file if file[0] == "<" else PurePosixPath(file).name
    return f"{function} ({place})"
