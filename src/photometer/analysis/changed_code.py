"""Which of the user's code changed: the Python functions that gained or lost instructions, and what they call now.

In: the call stacks of both sides, with Python's functions in them, and the calls of each function by line. Out:
ChangedCode, the one that explains most first. The figures are those that the flame graph of the same stacks shows.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from photometer.analysis.flame_tree import frame_changes, is_interpreter_frame
from photometer.instruments.callgrind.layout_dependent import bare_name
from photometer.instruments.callgrind.python_frames import STATEMENT, FramedSide, is_python_frame

# A sentence names this many places, and none that explains less than this of what changed.
PLACES_KEPT = 3
SMALLEST_SHARE = 0.1
# What lies below others that changed by less than this is reported with them.
SAME_SHARE = 0.05
CALLEES_SHOWN = 3
# Native functions are followed downwards as long as one of them has so much of the change.
MOST_OF_IT = 0.7

_FRAME = re.compile(r"(?P<function>.*) \((?P<file>[^()]*)\)")
# Code that is the same on both sides of a comparison, unless it is compared itself: not where a user looks first.
_LIBRARY = re.compile(r"(?:torch|python3\.\d+|numpy)/|<frozen ")
_MODULE_CALL = re.compile(r"\.(?:_wrapped_call_impl|_call_impl|__call__)$")
_BINDING = re.compile(r"THPVariable_(\w+)")


@dataclasses.dataclass(frozen=True)
class ChangedCode:
    """A Python function of both sides. `instructions_per_run` is the change of it and all below it, or `itself` without
    the functions of the user's below it.

    `more` and `less` name what it calls more often, and less often, than before; if neither, `native` is the native
    function below it in which most changed.
    """

    function: str
    file: str
    line: int
    instructions_per_run: float
    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    native: str = ""
    itself: bool = False

    @property
    def place(self) -> str:
        """`gate (tinynet/model.py:41)`; a set-up and the statement itself have no file."""
        line = f":{self.line}" if self.line else ""
        return f"{self.function} ({self.file}{line})" if self.file else self.function


def changed_code(base: FramedSide, branch: FramedSide) -> tuple[ChangedCode, ...]:
    """Return the functions that explain the change: everything new or gone is counted for the function above it.

    Empty if one of the sides has no Python functions in its stacks.
    """
    frames = [{name for stack, _ in side.stacks for name in stack if is_python_frame(name)} for side in (base, branch)]
    on_both = frames[0] & frames[1]
    if not on_both:
        return ()
    explained: Counter[str] = Counter()
    for sign, side in ((-1, base), (1, branch)):
        for stack, count in side.stacks:
            explained[_owner(stack, on_both)] += sign * count
    inclusive = {change.name: change.change for change in frame_changes(base.stacks, branch.stacks)}
    total = sum(explained.values())
    found: list[ChangedCode] = []
    for name in sorted(explained, key=lambda name: -abs(explained[name]))[:PLACES_KEPT]:
        if not name or abs(explained[name]) < max(SMALLEST_SHARE * abs(total), branch.runs):
            break
        # The flame graph's figure, unless other functions of the user's below this one changed too.
        itself = abs(inclusive[name] - explained[name]) > SAME_SHARE * abs(explained[name])
        code = _changed(name, base, branch, on_both)
        change = explained[name] if itself else inclusive[name]
        found.append(dataclasses.replace(code, instructions_per_run=change / branch.runs, itself=itself))
    return tuple(found)


def _owner(stack: tuple[str, ...], on_both: set[str]) -> str:
    """Return the innermost function of the user's that both sides have; without any, the innermost of a library."""
    python = [name for name in stack if name in on_both]
    own = [name for name in python if name != STATEMENT and not _is_library(name)]
    return (own or python or [""])[-1]


@functools.cache
def _is_library(frame: str) -> bool:
    match = _FRAME.fullmatch(frame)
    return match is not None and _LIBRARY.match(match["file"]) is not None


def _changed(frame: str, base: FramedSide, branch: FramedSide, on_both: set[str]) -> ChangedCode:
    more = _more_often(base, branch, frame)
    less = _more_often(branch, base, frame)
    native = "" if more or less else _native(frame, base, branch, on_both)
    match = _FRAME.fullmatch(frame)
    names = (frame, "") if match is None else (match["function"], match["file"])
    line = _line_of(more, base, branch, frame) if more else branch.lines.get(frame, 0)
    return ChangedCode(*names, line, 0.0, tuple(more), tuple(less), native)


def _more_often(before: FramedSide, after: FramedSide, frame: str) -> list[str]:
    """Return the functions that `after` calls more often in this function, the most frequent first."""
    times: Counter[str] = Counter()
    for sign, side in ((-1, before), (1, after)):
        for site, number in side.calls.get(frame, {}).items():
            times[_callee(site.callee)] += sign * number  # type: ignore[assignment]  # per run, so not always whole
    return [callee for callee, number in times.most_common() if number > 0][:CALLEES_SHOWN]


def _callee(name: str) -> str:
    """Name a module by its class: `Linear`, not `Linear._wrapped_call_impl`."""
    return _MODULE_CALL.sub("", name)


def _line_of(callees: list[str], base: FramedSide, branch: FramedSide, frame: str) -> int:
    """Return the line of a call that is new: one that the base does not have so far below the function's beginning."""
    first = {side: found.lines.get(frame, 0) for side, found in (("base", base), ("branch", branch))}
    before = {(_callee(site.callee), site.line - first["base"]) for site in base.calls.get(frame, {})}
    lines = sorted(site.line for site in branch.calls.get(frame, {}) if _callee(site.callee) == callees[0])
    new = [line for line in lines if (callees[0], line - first["branch"]) not in before]
    return (new or lines)[0]


def _native(frame: str, base: FramedSide, branch: FramedSide, on_both: set[str]) -> str:
    """Follow the change downwards, through the callee with most of it; name the last native function."""
    changes: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for sign, side in ((-1, base), (1, branch)):
        for stack, count in side.stacks:
            if frame in stack and _owner(stack, on_both) == frame:
                below = stack[len(stack) - stack[::-1].index(frame) :]
                for end in range(len(below) + 1):
                    changes[below[:end]] += sign * count
    for step in _steps(changes):
        name = bare_name(step[-1])
        if not is_python_frame(name) and not is_interpreter_frame(name) and not name.startswith("0x"):
            # The first that is not the interpreter's own says which operation it is.
            return _operation(name)
    return ""


def _steps(changes: Mapping[tuple[str, ...], float]) -> Iterator[tuple[str, ...]]:
    at: tuple[str, ...] = ()
    while True:
        below = [name for name in changes if len(name) == len(at) + 1 and name[: len(at)] == at]
        if not below:
            return
        largest = max(below, key=lambda name: abs(changes[name]))
        if abs(changes[largest]) < MOST_OF_IT * abs(changes[at]):
            return
        at = largest
        yield at


def _operation(name: str) -> str:
    """Name an operation as users do: `add` for `torch::autograd::THPVariable_add(_object*, …)`.

    Other functions lose their arguments.
    """
    binding = _BINDING.search(name)
    return binding[1] if binding is not None else name.partition("(")[0] or name
