"""A statement made ready to be run on a device: its set-up done once, then blocks of runs whenever asked."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from photometer.instruments.device.accelerator import RunBlock
from photometer.worker.python_loop import PythonLoop
from photometer.worker.user_error import name_the_line


@dataclass(frozen=True)
class Statement:
    """`variables` answers the names the statement can see, with their values now."""

    run: RunBlock
    variables: Callable[[], Mapping[str, Any]]


@contextlib.contextmanager
def open_statement(stmt: str, setup: str, globals: Mapping[str, Any]) -> Iterator[Statement]:
    """Run the set-up; the statement's variables live until the block is left. An error names the user's line."""
    namespace = dict(globals)
    loop = PythonLoop(stmt, setup, time.perf_counter, namespace)
    try:
        with loop.open_blocks() as run_block:

            def variables() -> Mapping[str, Any]:
                # The loop is a generator: its frame holds the set-up's variables, its code names the globals it uses.
                generator = run_block.__self__  # type: ignore[attr-defined]
                used = {name: namespace[name] for name in generator.gi_code.co_names if name in namespace}
                return {**used, **generator.gi_frame.f_locals}

            yield Statement(run_block, variables)
    except Exception as error:
        name_the_line(error, loop.source_name)
        raise
