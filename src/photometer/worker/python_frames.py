"""Python functions made visible to Callgrind: from Python 3.12 on each can be given a piece of machine code of its own.

They are CPython's trampolines for the profiler perf. Which piece belongs to which function CPython writes to a file in
/tmp, whose content `take_frame_map` answers. The near side removes it, for a child may die before it is asked.
"""

from __future__ import annotations

import os
import sys


def show_python_frames() -> bool:
    """Whether this interpreter can. It then runs somewhat more instructions for each call."""
    activate = getattr(sys, "activate_stack_trampoline", None)
    if activate is None:
        return False
    try:
        activate("perf")
    except (ValueError, OSError, RuntimeError):  # built without them, or another profiler has taken their place
        return False
    return True


def take_frame_map() -> str:
    """Lines of `address size py::function:file`, the numbers in hexadecimal; none where the file could not be made."""
    getattr(sys, "deactivate_stack_trampoline")()  # noqa: B009  # unknown to type checkers of older Pythons
    path = f"/tmp/perf-{os.getpid()}.map"
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""
