"""Python functions in a Callgrind profile, found by the trampolines that the worker or CPython made for them.

In: a profile taken with FRAME_OPTIONS, and the map of trampolines that the worker returned. Out: folded stacks in which
a trampoline and the interpreter's loop below it are one frame, named as in Python; they sum to the displayed figure,
the instructions outside the allocator. With a trampoline per call path (the worker's own), what was executed below each
Python frame is exact. Without any, the loop is one function.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from photometer.errors import CallgrindFileError
from photometer.instruments.callgrind.call_tree import SMALLEST_SHARE, FoldedStack, folded_stacks, whole_numbers
from photometer.instruments.callgrind.layout_dependent import is_dependent_below, is_layout_dependent
from photometer.instruments.callgrind.profile import UNKNOWN, Call, CallgrindProfile, Function
from photometer.model.instruction_counts import InstructionCounts
from photometer.worker.own_trampolines import DISPATCHER_ADDRESS


def fitted_stacks(stacks: Sequence[FoldedStack], counts: InstructionCounts) -> list[FoldedStack]:
    """Return the stacks for all runs of `counts`, whose sum is `counts.without_loop.outside_allocator`.

    The difference belongs to the interpreter's loop: it is subtracted from, or added to, the own cost of Python's
    frames in proportion. A statement without such frames is scaled as a whole.
    """
    below, itself = functools.cache(is_dependent_below), functools.cache(is_layout_dependent)
    total = max(counts.without_loop.outside_allocator, 0)
    kept = {stack: float(count) for stack, count in stacks if not itself(stack[-1]) and not any(map(below, stack))}
    off = total - sum(kept.values())
    for belongs in (_is_own_bytecode, lambda _: True):
        movable = sum(weight for stack, weight in kept.items() if belongs(stack))
        if movable and movable + off >= 0:
            factor = (movable + off) / movable
            fitted = {stack: weight * factor if belongs(stack) else weight for stack, weight in kept.items()}
            return whole_numbers(fitted, total)
    return []


def _is_own_bytecode(stack: tuple[str, ...]) -> bool:
    return is_python_frame(stack[-1]) or stack[-1] == LOOP


LOOP = "_PyEval_EvalFrameDefault"
# Functions between one Python function and the next, or between it and a meaningful native one: shared by all, they
# would blur who calls what. Their cost counts as their caller's.
_BETWEEN = (
    "py_trampoline_evaluator",
    "_PyEval_Vector",
    "_PyFunction_Vectorcall",
    "_PyVectorcall_Call",
    "_PyObject_Vectorcall*",
    "_PyObject_Call*",
    "_PyObject_MakeTpCall",
    "_PyObject_FastCallDictTstate*",
    "PyObject_Call*",
    "PyObject_Vectorcall*",
    "object_vacall*",
    "cfunction_call*",
    "cfunction_vectorcall*",
    "method_vectorcall*",
    "vectorcall_*",
    "slot_*",
    "binary_op*",
    "PyNumber_*",
    "PyObject_GetAttr*",
    "PyObject_GenericGetAttr*",
    "_PyObject_GenericGetAttr*",
    "_PyObject_GetMethod*",
    "PyObject_GetItem*",
    "PyObject_RichCompare*",
    "gen_send*",
    "_Py_Dealloc",
    "subtype_dealloc*",
    f"0x{DISPATCHER_ADDRESS:016x}",
)
# The loop is split by its caller, a trampoline. (No other option may name a prefix of its name: Callgrind 3.19 then
# ignores this one.)
FRAME_OPTIONS = (f"--separate-callers1={LOOP}", *(f"--fn-skip={name}" for name in _BETWEEN))

# The name of the frame of the statement's own bytecode; above it is only the worker.
STATEMENT = "the statement"
_OWN_LOOP = "_photometer_blocks"
_MAP_LINE = re.compile(r"(?P<address>[0-9a-f]+) [0-9a-f]+ py::(?P<function>.*?):(?P<file>.+)")
_ADDRESS = re.compile(r"0x0*([0-9a-f]+)")
_PYTHON_FRAME = re.compile(r" \((?:set-up|[^()]*\.py|<[^()]*>)\)$")


@dataclasses.dataclass(frozen=True)
class CallSite:
    """A function that a Python function calls, and the line of the call in its file."""

    callee: str
    line: int


@dataclasses.dataclass(frozen=True)
class FrameMap:
    """Frames by the address of their trampoline: `Tagged.__torch_function__ (pkg/tagged.py)`.

    If there is a trampoline per call path, `parents` are the addresses of the callers' trampolines; `lines` (where a
    function begins) and `calls` (what it calls, and how often per run) are by frame. Otherwise all three are empty.
    """

    names: dict[int, str]
    parents: dict[int, int] = dataclasses.field(default_factory=dict)
    lines: dict[str, int] = dataclasses.field(default_factory=dict)
    calls: dict[str, dict[CallSite, float]] = dataclasses.field(default_factory=dict)


NO_FRAMES = FrameMap({})


def frame_map_path(pid: int) -> Path:
    """Return where CPython writes the map of a process; that path is fixed."""
    return Path(f"/tmp/perf-{pid}.map")


def parse_frame_map(text: str) -> FrameMap:
    """Parse the worker's reply: its own JSON, or CPython's lines. It is untrusted data."""
    if not text.startswith("{"):
        found = [match for line in text.splitlines() if (match := _MAP_LINE.fullmatch(line.strip()))]
        return FrameMap({int(match["address"], 16): _frame(match["function"], match["file"]) for match in found})
    try:
        return _frame_tree(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError) as error:
        raise CallgrindFileError(f"the worker's map of Python frames cannot be read: {error}") from error


def _frame_tree(tree: Any) -> FrameMap:
    frames = FrameMap({}, {}, {}, {})
    for path in tree["paths"]:
        frame = _frame(str(path["function"]), str(path["file"]))
        address, parent = int(path["address"]), int(path["parent"])
        if parent >= address:
            raise ValueError("a path is below itself")
        frames.names[address] = frame
        if parent:
            # Without one it is a function, on whatever path it is called.
            frames.parents[address] = parent
        frames.lines[frame] = int(path["line"])
        calls = frames.calls.setdefault(frame, {})
        for callee, line, times in path["calls"]:
            site = CallSite(str(callee).removeprefix(f"{_OWN_LOOP}.<locals>."), int(line))
            calls[site] = calls.get(site, 0.0) + times / tree["runs"]
    return frames


def is_python_frame(name: str) -> bool:
    return name == STATEMENT or _PYTHON_FRAME.search(name) is not None


def below_statement(stack: tuple[str, ...]) -> tuple[str, ...]:
    """Return the stack without the frames of the worker, if the statement's frame is in it."""
    return stack[stack.index(STATEMENT) :] if STATEMENT in stack else stack


@dataclasses.dataclass(frozen=True)
class FramedSide:
    """One side: stacks for `runs` runs, and for each frame its first line and its calls per run."""

    stacks: Sequence[tuple[tuple[str, ...], int]]
    runs: int
    lines: Mapping[str, int] = dataclasses.field(default_factory=dict)
    calls: Mapping[str, Mapping[CallSite, float]] = dataclasses.field(default_factory=dict)


def with_python_frames(profile: CallgrindProfile, frames: FrameMap) -> CallgrindProfile:
    """Return the same costs with Python's names. Calls between the parts of one function are dropped."""
    known: dict[Function, Function] = {}

    def renamed(function: Function) -> Function:
        if function not in known:
            known[function] = _renamed(function, frames)
        return known[function]

    self_costs = tuple(dataclasses.replace(cost, function=renamed(cost.function)) for cost in profile.self_costs)
    calls = (
        Call(renamed(call.caller), call.caller_file, renamed(call.callee), call.count, call.costs)
        for call in profile.calls
    )
    return dataclasses.replace(
        profile, self_costs=self_costs, calls=tuple(call for call in calls if call.caller != call.callee)
    )


def python_stacks(
    profile: CallgrindProfile, frames: FrameMap, *, smallest_share: float = SMALLEST_SHARE
) -> list[FoldedStack]:
    """Return the stacks with Python's frames, without those of the worker; `profile` is as Callgrind wrote it.

    If every path has a trampoline, the cost of its calls is exact; minus that of the paths below, it is the cost of the
    path's own bytecode and native functions. Only how a native function's cost is divided among the paths that share it
    is estimated, as in folded_stacks.
    """
    renamed = with_python_frames(profile, frames)
    if not frames.parents:
        return [
            (below_statement(stack), count) for stack, count in folded_stacks(renamed, smallest_share=smallest_share)
        ]
    inside = _inside_of_paths(renamed, frames)
    by_path: defaultdict[int, dict[tuple[str, ...], int]] = defaultdict(dict)
    native = dataclasses.replace(renamed, calls=tuple(call for call in renamed.calls if not _is_path(call.callee)))
    for stack, count in folded_stacks(_numbered(native), smallest_share=smallest_share):
        match = _PATH.fullmatch(stack[0])
        if match is not None:
            by_path[int(match[1], 16)][stack[1:]] = count
    weights: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for address, cost in inside.items():
        above = _names_of(address, frames)
        natives = {stack: count for stack, count in by_path[address].items() if stack}
        below = sum(natives.values())
        weights[above] += max(cost - below, 0)
        for stack, count in natives.items():
            weights[above + stack] += count * min(cost / below, 1.0)
    return whole_numbers(weights, sum(inside.values()))


def _inside_of_paths(profile: CallgrindProfile, frames: FrameMap) -> dict[int, int]:
    """Return the cost of each path without the paths below it."""
    inclusive: defaultdict[int, int] = defaultdict(int)
    for call in profile.calls:
        if _is_path(call.callee):
            inclusive[int(call.callee.file, 16)] += call.costs[0]
    inside = dict(inclusive)
    for address, cost in inclusive.items():
        parent = frames.parents[address]
        if parent in inside:
            inside[parent] -= cost
    # A function may be left while one of another path is open (a discarded generator): costs must not be negative.
    return {address: max(cost, 0) for address, cost in inside.items()}


_PATH = re.compile(r"path ([0-9a-f]+)")
_PATH_OBJECT = "Python"


def _is_path(function: Function) -> bool:
    return function.object_path == _PATH_OBJECT


def _numbered(profile: CallgrindProfile) -> CallgrindProfile:
    """Return the profile with a unique name per path: functions of one name are on many paths."""

    def numbered(function: Function) -> Function:
        return Function(UNKNOWN, UNKNOWN, f"path {function.file}") if _is_path(function) else function

    return dataclasses.replace(
        profile,
        self_costs=tuple(dataclasses.replace(cost, function=numbered(cost.function)) for cost in profile.self_costs),
        calls=tuple(dataclasses.replace(call, caller=numbered(call.caller)) for call in profile.calls),
    )


def _names_of(address: int, frames: FrameMap) -> tuple[str, ...]:
    names: list[str] = []
    while address in frames.names:
        names.append(frames.names[address])
        address = frames.parents[address]
    return below_statement(tuple(reversed(names)))


def _renamed(function: Function, frames: FrameMap) -> Function:
    # `loop'2'0x000000000547c016'caller` is the loop in its second activation, below that trampoline.
    parts = function.name.split("'")
    is_loop = parts[0] == LOOP
    for part in parts[:1] if not is_loop else parts[1:]:
        match = _ADDRESS.fullmatch(part)
        address = int(match[1], 16) if match is not None else 0
        if address in frames.parents:
            return Function(_PATH_OBJECT, f"{address:x}", frames.names[address])
        if address in frames.names:
            return Function(UNKNOWN, UNKNOWN, frames.names[address])
    return dataclasses.replace(function, name=LOOP) if is_loop and len(parts) > 1 else function


def _frame(function: str, file: str) -> str:
    if function == _OWN_LOOP:
        return STATEMENT
    # Functions that the user's set-up defines are inside the loop's function.
    function = function.removeprefix(f"{_OWN_LOOP}.<locals>.")
    return f"{function} ({'set-up' if file.startswith('<photometer snippet') else file})"
