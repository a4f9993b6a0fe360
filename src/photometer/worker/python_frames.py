"""Make Python functions visible to Callgrind: each path of calls gets a piece of machine code, a trampoline.

Ours are for x86-64. Elsewhere CPython's are used, if it is 3.12 or later: it makes one per function for the profiler
perf, and lists them in a file in /tmp. The near side removes that file, because a child may be killed before.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable

from .own_trampolines import CalledFunctions, Trampolines, make_trampolines, shown_file, trampolines_of

# What happens once only, such as an import, is over then.
RUNS_BEFORE = 2
# To see which functions the statement calls.
RUNS_TO_SEE = 3


class PythonFrames:
    """The frames of a child, made before the set-up. The interpreter then runs more instructions for each call."""

    def __init__(self) -> None:
        self._are_pythons = platform.machine() not in ("x86_64", "AMD64") and _activate()
        self._own: Trampolines | None = None
        self._functions: CalledFunctions | None = None

    def before_counting(self, run_block: Callable[[int], float]) -> None:
        if not self._are_pythons and self._own is None:
            run_block(RUNS_BEFORE)
            self._own = make_trampolines(run_block, RUNS_TO_SEE)

    def watch_functions(self) -> None:
        """Record which functions are called until `show_functions`, for code that cannot be run several times."""
        if not self._are_pythons:
            self._functions = CalledFunctions()
            self._functions.watch_on()

    def show_functions(self) -> None:
        """Give each function that was called a trampoline, on whatever path it is called."""
        if self._functions is not None:
            self._own = trampolines_of(self._functions.paths())
            self._functions = None

    def take_map(self) -> str:
        """Return the trampolines' names, as own_trampolines or CPython write them; nothing if there are none."""
        if self._own is not None:
            self._own.remove()
            text, self._own = self._own.map_text(), None
            return text
        if self._are_pythons:
            getattr(sys, "deactivate_stack_trampoline")()  # noqa: B009  # unknown to type checkers of older Pythons
            self._are_pythons = False
            return "\n".join(map(_with_shown_file, _text_of(f"/tmp/perf-{os.getpid()}.map").splitlines()))
        return ""


def _with_shown_file(line: str) -> str:
    head, mark, file = line.rpartition(":")
    return head + mark + shown_file(file)


def _activate() -> bool:
    activate = getattr(sys, "activate_stack_trampoline", None)
    if activate is None:
        return False
    try:
        activate("perf")
    except (ValueError, OSError, RuntimeError):  # built without them, or another profiler has taken their place
        return False
    return True


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""
