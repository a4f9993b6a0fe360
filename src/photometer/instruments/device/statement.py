"""A statement ready to run on a device: its set-up runs once, then it runs in blocks, or as replays of a graph."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from photometer.instruments.clock import Clock
from photometer.instruments.device.accelerator import Accelerator, GraphCapture, RunBlock, WorkQueue
from photometer.worker.native_loop import NativeLoop
from photometer.worker.python_loop import PythonLoop
from photometer.worker.user_error import name_the_line

# The first line of a driver's message says what happened; the rest is advice for its developers.
LONGEST_REASON = 160


@dataclass(frozen=True)
class Statement:
    """`variables` returns the names that the statement can see, with their current values."""

    run: RunBlock
    variables: Callable[[], Mapping[str, Any]]


@contextlib.contextmanager
def open_statement(stmt: str, setup: str, globals: Mapping[str, Any]) -> Iterator[Statement]:
    """Run the set-up; the statement's variables live until the `with` block ends. An error names the user's line."""
    namespace = dict(globals)
    loop = PythonLoop(stmt, setup, time.perf_counter, namespace)
    try:
        with loop.open_blocks() as run_block:

            def variables() -> Mapping[str, Any]:
                # The loop is a generator: its frame has the set-up's variables, its code lists the globals it uses.
                generator = run_block.__self__  # type: ignore[attr-defined]
                used = {name: namespace[name] for name in generator.gi_code.co_names if name in namespace}
                return {**used, **generator.gi_frame.f_locals}

            yield Statement(run_block, variables)
    except Exception as error:
        name_the_line(error, loop.source_name)
        raise


@contextlib.contextmanager
def open_native(library: str, symbol: str) -> Iterator[Statement]:
    """Run the set-up of a compiled C++ statement. Its variables cannot be seen from here."""
    with NativeLoop(library, symbol).open_blocks() as run_block:
        yield Statement(run_block, dict)


def why_no_graph(accelerator: Accelerator, *, synchronises: bool, has_work: bool) -> str | None:
    """Return why a capture must not be tried; None if it can be."""
    if accelerator.graphs is None:
        return accelerator.why_missing("graphs")
    if not has_work:
        return "there is no device work to capture"
    return "a run waits for the device, which a graph cannot" if synchronises else None


def capture_run(graphs: GraphCapture, queue: WorkQueue, run: RunBlock, clock: Clock) -> RunBlock | str:
    """Return a block of replays to run instead of the statement, or why there is none. Do not use `run` afterwards."""
    try:
        replay = graphs.capture(lambda: run(1))
    except Exception as error:  # from the driver, torch or the statement: it is the reason to report
        queue.synchronize()
        return _reason(error)
    return _replays(replay, clock)


def _replays(replay: Callable[[], None], clock: Clock) -> RunBlock:
    def run(runs: int) -> float:
        start = clock()
        for _ in range(runs):
            replay()
        return clock() - start

    return run


def _reason(error: BaseException) -> str:
    """Return the first error: torch's own error at the end of a capture often only follows from it."""
    while error.__context__ is not None:
        error = error.__context__
    text = str(error).strip().split("\n")[0] or type(error).__name__
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"
