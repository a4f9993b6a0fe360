"""LocalExecutor: does the work on this machine, in children of one session.

Each piece of work is done by the thread that asks, on the cores that it names: the thread and the server it uses are
kept to them, so that whatever either starts runs there too.

Builder: C++ compiled by a process of its own, which can be ended at any moment with the compilers it has started.
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
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from photometer.errors import BuildError, PhotometerError, WorkerCrashed
from photometer.execution.executor import BuildSnippets, Describe, Done, Failure, MeasureOrder, ScriptModel, Work
from photometer.execution.prepare import script_model
from photometer.instruments.callgrind.counter import COUNTS
from photometer.instruments.cpp.build import build_snippets
from photometer.instruments.cpp.snippet import BuiltSnippet, CppOptions, CppSnippet
from photometer.instruments.cpp.torch_build import torch_build_from_folder
from photometer.instruments.ready_order import run_once
from photometer.model.records import to_record
from photometer.model.visit import Visit
from photometer.session.cores import on_cores
from photometer.session.session import Session

COMMAND = (sys.executable, "-m", "photometer.execution.local_executor")


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
                raise WorkerCrashed("the process that compiles C++ died", exit_status=status, log=log.read()[-4000:])
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
    """Be the far side."""
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


# A build that takes longer than this finds not everything in the cache, and so takes long enough to start a server.
FROM_CACHE_SECONDS = 2.0


class LocalExecutor:
    """Use as a context manager, or call `close`; the session is closed with it. `stop` ends everything at once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._builder = Builder()
        # What was timed here: how many runs fit a count's time limit depends on it.
        self._seconds_per_run: dict[str, float] = {}

    def execute(self, work: Work) -> Done | Failure:
        try:
            with on_cores(work.cores):
                return self._do(work)
        except PhotometerError as error:
            return Failure.of(error)

    def _do(self, work: Work) -> Done | Failure:
        if isinstance(work, BuildSnippets):
            return self._build(work)
        if isinstance(work, MeasureOrder):
            return self._measure(work)
        if isinstance(work, ScriptModel):
            script_model(self.session, work)
            return Done()
        assert isinstance(work, Describe)
        return Done(facts=self.session.facts())

    def _build(self, work: BuildSnippets) -> Done | Failure:
        """Compile; if that takes long, start the counts' server meanwhile. It is ready when this returns."""
        if not work.counts_follow:
            return self._builder.build(work)
        started = threading.Event()

        def start_counting() -> None:
            # If it cannot be started, the first count says why.
            with contextlib.suppress(PhotometerError):
                self.session.start_ahead([COUNTS], work.cores[:1])
                started.set()

        later = threading.Timer(FROM_CACHE_SECONDS, start_counting)
        later.start()
        try:
            outcome = self._builder.build(work)
        finally:
            later.cancel()
            later.join()
        if started.is_set():
            with contextlib.suppress(PhotometerError), self.session.server(COUNTS, work.cores[:1]):
                # What is timed next must not run beside a server that starts.
                pass
        return outcome

    def _measure(self, work: MeasureOrder) -> Done:
        instrument, order_id = work.step.instrument, work.order.id
        if instrument is None:
            run_once(self.session, work.ready, path=work.path, folder=work.folder, cores=work.cores)
            return Done()
        asked = dataclasses.replace(work, seconds_per_run=self._seconds_per_run.get(order_id))
        found = instrument.measure(self.session, asked)
        if isinstance(found, Visit):
            self._seconds_per_run[order_id] = min(found.block_seconds) / found.number_per_run
        return Done(found if found is None or isinstance(found, Mapping) else to_record(found))

    def stop(self) -> None:
        """End everything at once, from any thread: work under way becomes a failure."""
        self.session.kill()
        self._builder.kill()

    def close(self) -> None:
        self.session.close()

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.stop()
        self.close()
