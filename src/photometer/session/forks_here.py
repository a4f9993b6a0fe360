"""Forks of this process: children that have its objects, and serve the same requests as a server's children.

They are for objects that cannot be sent to a server as text: a fuzzer's tensors, a user's functions. The given names
are the globals of the child's statements. The child's output goes where this process's output goes.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from photometer.errors import WorkerCrashed, WorkerTimeout
from photometer.session.child_process import ChildGone, ChildProcess
from photometer.session.cores import pin
from photometer.session.policy import can_fork as can_fork
from photometer.session.session import ServerKind
from photometer.worker.child_life import fork_with_threads, live_as_child
from photometer.worker.messages import Hello, decode_reply
from photometer.worker.protocol import Disconnected, MessageBuffer, pack_message
from photometer.worker.server import refuse_huge_pages

# A fork of a process with gigabytes of tensors copies their page tables, which takes about 0.1 s.
FORK_SECONDS = 60.0
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def fork_here(names: Mapping[str, Any], cores: Sequence[int] = ()) -> Iterator[ChildProcess]:
    """Yield a fork of this process whose statements see `names`; it is ended when the block ends."""
    line = _OwnLine(dict(names), cores)
    try:
        child = line.greet()
        try:
            yield child
        finally:
            child.leave()
    finally:
        line.close()


class ForksHere:
    """Provides forks of this process, as a session provides those of its servers. Their statements see `names`."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    @contextlib.contextmanager
    def child(self, kind: ServerKind = ServerKind(), cores: Sequence[int] = ()) -> Iterator[ChildProcess]:  # noqa: B008
        """Yield a fresh fork. `kind` is ignored: the layout is drawn in the fork."""
        with fork_here(self._names, cores) as child:
            yield child

    def start_ahead(self, kinds: Iterable[ServerKind], cores: Sequence[int] = ()) -> None:
        """Do nothing: this process is already running."""


class _OwnLine:
    """A socket between this process and one fork of it; it closes when the fork ends."""

    def __init__(self, names: dict[str, Any], cores: Sequence[int]) -> None:
        sys.stdout.flush()  # otherwise both processes would write what is still in the buffer
        sys.stderr.flush()
        self._channel, far = socket.socketpair()
        far_lifeline, self._lifeline = os.pipe()
        self._messages = MessageBuffer()
        self._status: int | None = None
        self.pid = _fork()
        if self.pid == 0:
            live_as_child(lambda: self._take_line(far.fileno(), far_lifeline, cores), names)
        far.close()
        os.close(far_lifeline)
        self._channel.setblocking(False)

    def _take_line(self, channel: int, lifeline: int, cores: Sequence[int]) -> tuple[int, int]:
        """Close this process's ends in the child, and set its cores and memory pages as a session does for servers."""
        self._channel.close()
        os.close(self._lifeline)
        pin(0, cores)
        refuse_huge_pages()
        return channel, lifeline

    def greet(self) -> ChildProcess:
        try:
            hello = decode_reply(Hello, self.receive(time.monotonic() + FORK_SECONDS))
        except (ChildGone, Disconnected, WorkerTimeout) as error:
            raise WorkerCrashed("a fork of this process did not start") from error
        assert isinstance(hello, Hello)
        return ChildProcess(self, self.pid)

    def send(self, message: dict[str, Any], deadline: float) -> None:
        data = memoryview(pack_message(message))
        while data:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([], [self._channel], [], left)[1]:
                raise WorkerTimeout("the request was not read in time")
            try:
                data = data[self._channel.send(data) :]
            except BlockingIOError:
                continue
            except OSError:
                raise ChildGone(self._wait()) from None

    def receive(self, deadline: float) -> dict[str, Any]:
        while True:
            message = self._messages.next_message()
            if message is not None:
                return message
            if self._status is not None:
                raise ChildGone(self._status)
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._channel], [], [], left)[0]:
                raise WorkerTimeout("no reply in time")
            try:
                part = self._channel.recv(1 << 16)
            except BlockingIOError:
                continue
            except OSError:
                part = b""
            if part:
                self._messages.add(part)
            else:
                self._wait()

    def output(self) -> str:
        """Return nothing: the fork's output goes where this process's output goes."""
        return ""

    def give_up(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        if self._status is None:
            self.give_up()
            self._wait()
        # Processes that it started are in its group, unless they left it on purpose.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._channel.close()
        os.close(self._lifeline)

    def _wait(self) -> int:
        if self._status is None:
            self._status = os.waitpid(self.pid, 0)[1]
        return self._status


def _fork() -> int:
    """Fork with Ctrl-C blocked: Python ignores exceptions in the callbacks that modules register for a fork."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        pid = fork_with_threads()
        if pid == 0:
            # Ctrl-C is for the parent, which ends this child.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
