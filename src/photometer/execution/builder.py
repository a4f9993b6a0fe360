"""Builder: all C++ of a plan compiled as one batch by a process of its own, which can be ended at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any

from photometer.errors import WorkerCrashed
from photometer.execution.executor import Answer, Request

COMMAND = (sys.executable, "-m", "photometer.execution.build_process")


class Builder:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()

    def build(self, request: Request) -> Answer:
        """Compile on the cores of the thread that calls. Answers as the process did."""
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
                    process.stdin.write(json.dumps(dict(request)) + "\n")
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
        answer: dict[str, Any] = json.loads(text)
        return answer

    def kill(self) -> None:
        with self._lock:
            for process in self._running:
                _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
