"""One piece of work in a fork of this process: what it answers, or how its process ended.

In comes a function that answers plain values; out comes its answer, or WorkerCrashed, or WorkerTimeout. So an operation
that takes the process down with it, or never ends, costs one answer and not the run. JSON goes through a pipe.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from photometer.errors import WorkerCrashed, WorkerTimeout

_PIPE_BYTES = 65536


def can_fork() -> bool:
    """macOS has fork, but its system libraries do not survive one."""
    return sys.platform == "linux"


def call_in_fork(work: Callable[[], Mapping[str, Any]], timeout_seconds: float) -> Any:
    """What `work` answers in a child of this process. Its own exceptions are for `work` to catch."""
    sys.stdout.flush()  # or both processes would write what is still in the buffer
    sys.stderr.flush()
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns where other threads exist; the child runs this one alone and leaves by _exit.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _child(work, write_end)
    os.close(write_end)
    ended = False
    try:
        answer, in_time = _read_all(read_end, time.monotonic() + timeout_seconds)
        if in_time:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            ended = True
    finally:  # a Ctrl-C here must not leave the child behind
        os.close(read_end)
        if not ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    if not in_time:
        raise WorkerTimeout(
            f"no answer in {timeout_seconds:g} s",
            remedy="Give it more time, or smaller inputs, if it would end at all.",
        )
    if status != 0 or not answer:
        raise WorkerCrashed(f"the process {_ending(status)}", exit_status=status)
    return json.loads(answer)


def _child(work: Callable[[], Mapping[str, Any]], write_end: int) -> None:
    status = 1
    gc.disable()  # a collection would touch, and so copy, every page of the parent's objects
    try:
        answer = json.dumps(work()).encode()
        sys.stdout.flush()
        with os.fdopen(write_end, "wb") as pipe:
            pipe.write(answer)
        status = 0
    except KeyboardInterrupt:
        status = 130  # the parent hears the same Ctrl-C and says so
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)  # not sys.exit: what the parent registered to run at its end is not the child's


def _read_all(read_end: int, deadline: float) -> tuple[bytes, bool]:
    """Everything until the child closes its end, and whether that came in time."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([read_end], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return b"", False
        part = os.read(read_end, _PIPE_BYTES)
        if not part:
            return b"".join(parts), True
        parts.append(part)


def _ending(status: int) -> str:
    if status < 0:
        name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
        hint = ", perhaps for want of memory" if -status == signal.SIGKILL else ""
        return f"died of signal {name}{hint}"
    return f"ended with exit status {status} before it answered"
