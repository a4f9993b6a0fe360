"""ChildProcess: the near side of one fork. Typed requests in, typed replies out; every wait has a deadline.

The user's exception, a crash, a time-out and an invalid message each raise a different error. The protocol `Line` hides
whether the child is reached over a server's channel or over its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any, Protocol, TypeVar

from photometer.errors import BenchmarkSkipped, ProtocolError, SnippetError, WorkerCrashed, WorkerTimeout
from photometer.session.zygote import LEAVING_SECONDS
from photometer.worker.messages import BadMessage, Exit, Failed, Reply, Request, decode_reply, encode_request
from photometer.worker.protocol import Disconnected, Garbled
from photometer.worker.user_error import SKIP_TEST

LONGEST_REQUEST_SECONDS = 3600.0

_Reply = TypeVar("_Reply", bound=Reply)


class ChildGone(Exception):
    """The child has ended, with this wait status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Line(Protocol):
    """The connection to a child. Both calls raise ChildGone, Disconnected (its server is gone too) or WorkerTimeout."""

    def send(self, message: dict[str, Any], deadline: float) -> None: ...

    def receive(self, deadline: float) -> dict[str, Any]: ...

    def output(self) -> str:
        """Return the end of what the child printed."""

    def give_up(self) -> None:
        """Kill the process behind this line: it does not respond, or sends invalid messages."""


class ChildProcess:
    """One fork."""

    def __init__(self, line: Line, pid: int) -> None:
        self._line = line
        self.pid = pid
        self._alive = True
        self._asked = 0

    def ask(self, request: Request[_Reply], timeout_seconds: float = LONGEST_REQUEST_SECONDS) -> _Reply:
        """Send a request and wait for its reply."""
        deadline = time.monotonic() + timeout_seconds
        self._asked += 1
        try:
            self._line.send(encode_request(request, self._asked), deadline)
            reply = decode_reply(request.reply, self._line.receive(deadline), self._asked)
        except ChildGone as gone:
            self._alive = False
            raise crash_error(gone.status, self._line.output()) from None
        except WorkerTimeout:
            self.kill()
            raise WorkerTimeout(
                f"no reply within {timeout_seconds:g} s",
                log=self._line.output(),
                remedy="Allow more time (--timeout), or look for an endless loop or a deadlock.",
            ) from None
        except Disconnected:
            self._alive = False
            # It may still be dying: it must not be used again.
            self._line.give_up()
            raise WorkerCrashed("the environment's server has ended", log=self._line.output()) from None
        except (Garbled, BadMessage) as error:
            # The writer may write more: neither the child nor its line can be used again.
            self._alive = False
            self._line.give_up()
            raise ProtocolError(
                f"the benchmark's process sent an invalid message: {error}",
                log=self._line.output(),
                remedy="Check whether the snippet writes to file descriptors it did not open.",
            ) from error
        if isinstance(reply, Failed) and reply.type == SKIP_TEST:
            raise BenchmarkSkipped(
                reply.message or "no reason was given", exception_type=reply.type, log=reply.traceback
            )
        if isinstance(reply, Failed):
            raise SnippetError(f"{reply.type}: {reply.message}", exception_type=reply.type, log=reply.traceback)
        return reply  # type: ignore[return-value]  # decode_reply checked that it is a request.reply

    def leave(self) -> None:
        """Ask the child to exit; kill it if it does not."""
        if not self._alive:
            return
        deadline = time.monotonic() + LEAVING_SECONDS
        with contextlib.suppress(OSError, ChildGone, Disconnected, WorkerTimeout):
            self._line.send(encode_request(Exit(), self._asked + 1), deadline)
        if not self._await_end(deadline):
            self.kill()

    def kill(self) -> None:
        if not self._alive:
            return
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, signal.SIGKILL)
        if not self._await_end(time.monotonic() + LEAVING_SECONDS):
            # A server that does not report the end of its child is stopped or stuck.
            self._line.give_up()
        self._alive = False

    def _await_end(self, deadline: float) -> bool:
        """Wait until the child's end is reported; discard any further message."""
        while True:
            try:
                self._line.receive(deadline)
            except (ChildGone, Disconnected):
                self._alive = False
                return True
            except WorkerTimeout:
                return False
            except Garbled:
                self._line.give_up()
                self._alive = False
                return True


def crash_error(status: int, output: str) -> WorkerCrashed:
    """Return an error for a child's wait status, with its likely cause."""
    if not os.WIFSIGNALED(status):
        return WorkerCrashed(
            f"the benchmark's process ended with exit status {os.WEXITSTATUS(status)}",
            exit_status=os.WEXITSTATUS(status),
            log=output,
            remedy="Check whether the snippet calls exit.",
        )
    number = os.WTERMSIG(status)
    remedies = {
        signal.SIGKILL: "It was killed from outside: the machine probably ran out of memory.",
        signal.SIGSEGV: "Native code that the snippet called had a segmentation fault.",
        signal.SIGABRT: "Native code aborted; the lines above may say why.",
        signal.SIGILL: "An instruction was not supported by this processor (or by Valgrind, which has no AVX-512).",
    }
    return WorkerCrashed(
        f"the benchmark's process was killed by {signal_name(number)}",
        exit_status=-number,
        log=output,
        remedy={int(known): remedy for known, remedy in remedies.items()}.get(number),
    )


def signal_name(number: int) -> str:
    """Return a name such as SIGSEGV, or `signal 40` if Python has none (real-time signals)."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
