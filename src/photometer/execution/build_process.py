"""Builder: C++ compiled by a process of its own, which can be ended at any moment with the compilers it has started.

The far side is `python -m photometer.execution.build_process`: it compiles the snippets that it reads and writes JSON.
It ends with all its compilers when its standard input is closed, that is, when the run ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from photometer.errors import BuildError, PhotometerError, WorkerCrashed
from photometer.execution.executor import BuildSnippets, Done, Failure
from photometer.instruments.cpp.build import build_snippets
from photometer.instruments.cpp.snippet import BuiltSnippet, CppOptions, CppSnippet
from photometer.instruments.cpp.torch_build import torch_build_from_folder

COMMAND = (sys.executable, "-m", "photometer.execution.build_process")


class Builder:
    """Builds for any thread; `kill` ends all builds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()

    def build(self, work: BuildSnippets) -> Done | Failure:
        """Compile on the cores of the thread that calls."""
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            process = subprocess.Popen(
                COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
            with self._lock:
                self._running.add(process)
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(json.dumps(dataclasses.asdict(work)) + "\n")
                    process.stdin.flush()
                text = process.stdout.read()
                status = process.wait()
            finally:
                with self._lock:
                    self._running.discard(process)
                _kill(process)
            if status != 0:
                log.seek(0)
                raise WorkerCrashed(
                    "the process that compiles C++ ended unexpectedly", exit_status=status, log=log.read()[-4000:]
                )
        built = json.loads(text)
        if "failure" in built:
            return Failure(**built["failure"])
        return Done(outcomes=tuple(map(_read_outcome, built["outcomes"])))

    def kill(self) -> None:
        with self._lock:
            for process in self._running:
                _kill(process)


def _read_outcome(outcome: dict[str, Any]) -> BuiltSnippet | Failure:
    if "failure" in outcome:
        return Failure(**outcome["failure"])
    return BuiltSnippet(Path(outcome["library"]), outcome["symbol"], cached=outcome["cached"])


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def main() -> None:
    """Run the far side: compile what the near side sends until it closes the pipe."""
    work = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    try:
        written: dict[str, Any] = {"outcomes": [_write_outcome(outcome) for outcome in _build(work)]}
    except PhotometerError as error:
        written = {"failure": dataclasses.asdict(Failure.of(error))}
    sys.stdout.write(json.dumps(written))


def _build(work: dict[str, Any]) -> list[BuiltSnippet | BuildError]:
    return build_snippets(
        [CppSnippet(**snippet) for snippet in work["snippets"]],
        torch_build=torch_build_from_folder(Path(work["torch_folder"])),
        options=CppOptions(include_paths=tuple(map(Path, work["include_paths"]))),
    )


def _write_outcome(outcome: BuiltSnippet | BuildError) -> dict[str, Any]:
    if isinstance(outcome, BuildError):
        return {"failure": dataclasses.asdict(Failure.of(outcome))}
    return {"library": str(outcome.library), "symbol": outcome.symbol, "cached": outcome.cached}


def _end_with_the_run() -> None:
    sys.stdin.read()
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main()
