"""Count the instructions of a cold compilation by torch.compile under Callgrind.

The set-up compiles and makes the first call between `photometer_count_compile.begin()` and `.end()`, which
plan/codegen_python.py writes; the instructions between these are counted and dumped. What torch reads meanwhile
(clocks too) is made the same each time: other durations are other numbers, which take other instructions to write.
Standard library and torch only.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from .compile_report import use_compile_cache
from .python_frames import PythonFrames
from .torch_here import needed_torch
from .valgrind_requests import CallgrindSwitch

# A global of this name in the set-up is a CompileCount.
COUNT_COMPILE = "photometer_count_compile"
# Some instant, in seconds, from which the clocks go on, and what each reading adds: about a microsecond.
FIRST_SECONDS = 1 << 30
STEP_SECONDS = 2.0**-20


class CompileCount:
    """`begin` and `end` stand around the counted code.

    `watch`, before them, sees which functions a compilation calls. The watched compilation is forgotten before the
    counted one.
    """

    def __init__(self, frames: PythonFrames | None, cache: str) -> None:
        self._switch = CallgrindSwitch()
        self._frames = frames
        self._cache = cache
        self._fixed = contextlib.ExitStack()

    def watch(self) -> None:
        assert self._frames is not None
        use_compile_cache(f"{self._cache}/watched")
        self._frames.watch_functions()

    def begin(self) -> None:
        if self._frames is not None:
            self._frames.show_functions()
            needed_torch("torch.compile")._dynamo.reset()
            use_compile_cache(self._cache)
        self._fixed.enter_context(same_each_time())
        self._switch.begin()

    def end(self) -> None:
        self._switch.end()
        self._fixed.close()


@contextlib.contextmanager
def same_each_time() -> Iterator[None]:
    """Make torch read the same values from the world in every process while it compiles."""
    with stepping_clocks(), fixed_bytes(), fixed_guard_time():
        yield


@contextlib.contextmanager
def stepping_clocks() -> Iterator[None]:
    """Have every clock of the module `time` advance by the same step with each reading."""
    own = {name: getattr(time, name) for name in _CLOCKS}
    for name, make in _CLOCKS.items():
        setattr(time, name, make())
    try:
        yield
    finally:
        for name, clock in own.items():
            setattr(time, name, clock)


@contextlib.contextmanager
def fixed_bytes() -> Iterator[None]:
    """Make `os.urandom`, from which torch names its compiled code, return the same bytes each time."""
    own, source = os.urandom, random.Random(0)
    os.urandom = source.randbytes
    try:
        yield
    finally:
        os.urandom = own


@contextlib.contextmanager
def fixed_guard_time() -> Iterator[None]:
    """Make torch's own timing of guards, whose clock is not Python's, return the same number; it is written to logs."""
    from torch._dynamo import guards

    own = getattr(guards, "profile_guard_manager", None)
    if own is None:
        yield
        return

    def timed(*arguments: Any) -> float:
        own(*arguments)
        return 1.0

    guards.profile_guard_manager = timed
    try:
        yield
    finally:
        guards.profile_guard_manager = own


def _seconds() -> Callable[[], float]:
    return itertools.count(float(FIRST_SECONDS), STEP_SECONDS).__next__


def _nanoseconds() -> Callable[[], int]:
    return itertools.count(FIRST_SECONDS * 1_000_000_000, 1000).__next__


_CLOCKS = {
    **dict.fromkeys(("time", "perf_counter", "monotonic", "process_time", "thread_time"), _seconds),
    **dict.fromkeys(("time_ns", "perf_counter_ns", "monotonic_ns", "process_time_ns", "thread_time_ns"), _nanoseconds),
}


def compile_before_counting(folder: str, imports: list[str]) -> None:
    """Compile a small function, forward and backward, before any child is forked.

    The one-time work of a process's first compilation is then done, and Valgrind has translated the compiler.
    """
    torch = needed_torch("torch.compile")
    backends = ["eager", "aot_eager"]
    if "import torch._inductor.compile_fx" in imports:
        backends.append("inductor")
        # Workers of a pool would be forked under Valgrind, and what they do would not be counted.
        torch._inductor.config.compile_threads = 1
    before = {name: os.environ.get(name) for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")}
    use_compile_cache(folder)
    with same_each_time():
        for backend in backends:
            for needs_gradient in (False, True):
                torch._dynamo.reset()
                x = torch.ones(4, requires_grad=needs_gradient)
                # One that both returns and reduces, so that kernels of both kinds are made.
                y = torch.compile(lambda x: (torch.relu(x) * 2 + x).sum(), backend=backend)(x)
                if needs_gradient:
                    y.backward()
        torch._dynamo.reset()
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
