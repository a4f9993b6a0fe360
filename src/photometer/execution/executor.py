"""Executor: the seam between a run and whatever does its work. One method; what crosses it is JSON.

A request says what to do ("do") and where ("cpus"); an answer is {"ok": true, …} or {"ok": false, "error": {…}}:
    describe            -> "facts": of the environment: torch, devices, interpreter
    script   a model    -> nothing; the file is there
    build    snippets   -> "outcomes": {"library", "symbol"} or {"error"} for each
    time     an order   -> "record": a measurement, as a results file has it
    count    an order   -> "record": instruction counts
    device   an order   -> "record": a device measurement, its times on an accelerator
    probe    an order   -> nothing; its result is in the file that the order names
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from photometer.errors import PhotometerError, WorkerCrashed, WorkerTimeout

Request = Mapping[str, Any]
Answer = dict[str, Any]

# The end of a log explains the failure; a flood of output does not belong into a results file.
LOG_KEPT_CHARACTERS = 4000


class Executor(Protocol):
    """Does one piece of work at a time for each thread that asks. The user's mistakes are answers, not exceptions."""

    def execute(self, request: Request) -> Answer: ...


def failure_answer(error: PhotometerError) -> Answer:
    """An error as it crosses the seam."""
    log = error.log or ""
    return {
        "ok": False,
        "error": {
            "type": type(error).__name__,
            "message": error.message,
            "log": log if len(log) <= LOG_KEPT_CHARACTERS else "…" + log[-LOG_KEPT_CHARACTERS:],
            "remedy": error.remedy or "",
            "exit_status": error.exit_status,
            # A crash or a time-out may be the machine's doing; an exception or a compiler's error comes again.
            "may_pass": isinstance(error, WorkerCrashed | WorkerTimeout),
        },
    }
