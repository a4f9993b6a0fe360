"""ForkServer: an environment's process, started once; every benchmark then runs in a fork of it, clean and cheap.

In: a Launch, which the Session makes. Out: children. Starting and waiting (`wait_until_ready`) are two steps, so that
several can start at the same time and any of them can be killed meanwhile. Only the Session creates these.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from photometer.errors import ProtocolError, WorkerCrashed, WorkerStartError, WorkerTimeout
from photometer.session.child_process import LEAVING_SECONDS, ChildGone, ChildProcess
from photometer.session.layout import freezing, of_fixed_length
from photometer.session.left_behind import make_folder
from photometer.session.policy import WORKING_FOLDER
from photometer.worker.messages import PROTOCOL_VERSION, BadMessage, Failed, Hello, Started, decode_reply
from photometer.worker.protocol import Disconnected, Garbled, MessageBuffer, pack_message
from photometer.worker.server import STATUS

WORKER = Path(__file__).parent.parent / "worker" / "__main__.py"
# Importing torch takes 1 to 3 s, 14 s under Valgrind, and several times that on a busy machine with a cold disk.
START_SECONDS = 300.0
# A fork takes 10 ms, 0.3 s under Valgrind, ten times that on a busy machine; after this long the server is stuck.
FORK_SECONDS = 20.0
# The end of a child's output explains its death; the rest is dropped.
OUTPUT_KEPT_BYTES = 64 * 1024


@dataclasses.dataclass(frozen=True)
class Launch:
    """How a server is started. A word of `wrapper` may name a file in the server's `{folder}`."""

    python: str
    variables: Mapping[str, str]
    search_path: tuple[str, ...] = ()
    wrapper: tuple[str, ...] = ()
    translate: bool = False
    small_pages: bool = True
    preload: tuple[str, ...] = ()
    # Each child is a new process, not a fork.
    fresh: bool = False
    # The file that the interpreter runs.
    worker: str = str(WORKER)


class ForkServer:
    """A process of an environment. It has one child at a time."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.frozen = freezing().refused_because is None
        self.not_frozen_because = freezing().refused_because
        self.greeting: Started | None = None
        self.folder = make_folder()
        self.command = _command(launch, self.folder)
        self._output = bytearray()
        self._messages = MessageBuffer()
        self._closed = False
        self._child_pid: int | None = None
        self._child_status: int | None = None
        self.strays = 0
        self._control, far_control = socket.socketpair()
        self._channel, far_channel = socket.socketpair()
        # Nothing is ever written to the lifeline: when this process dies, the pipe closes, which kills the child.
        far_lifeline, self._lifeline = os.pipe()
        self._output_end, far_output = os.pipe()
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=far_control.fileno(),
                stdout=far_output,
                stderr=far_output,
                env=dict(launch.variables),
                cwd=WORKING_FOLDER,
                start_new_session=True,
            )
        except OSError as error:
            self._closed = True
            far_channel.close()
            os.close(far_lifeline)
            self._release()
            raise WorkerStartError(
                f"the interpreter {launch.python} could not be started: {error}",
                command=self.command,
                remedy="Give a Python interpreter that has torch installed.",
            ) from error
        finally:
            far_control.close()
            os.close(far_output)
        self.pid = self._process.pid
        self._channel.setblocking(False)
        os.set_blocking(self._output_end, False)
        # If the interpreter has already ended, waiting for its greeting gives a better error.
        with contextlib.suppress(BrokenPipeError):
            socket.send_fds(self._control, [b"c"], [far_channel.fileno(), far_lifeline])
        far_channel.close()
        os.close(far_lifeline)

    def wait_until_ready(self, start_seconds: float = START_SECONDS) -> None:
        """Wait for the greeting. If the server does not start, close it and raise an error that says why."""
        if self.greeting is not None:
            return
        try:
            self.greeting = self._greet(start_seconds)
        except BaseException:
            # For example Ctrl-C: under Valgrind a starting server would go on for 15 s.
            self.kill()
            self.close()
            raise

    def _greet(self, start_seconds: float) -> Started:
        try:
            message = self.receive(time.monotonic() + start_seconds)
        except (ChildGone, WorkerTimeout, Disconnected) as reason:
            self.close()
            what = "did not respond in time" if isinstance(reason, WorkerTimeout) else "ended while starting"
            raise WorkerStartError(
                f"the worker {what}",
                command=self.command,
                exit_status=self._process.poll(),
                log=self.output(),
                remedy="Check that this interpreter runs and can `import torch`.",
            ) from None
        except Garbled as error:
            raise ProtocolError(f"the worker sent an invalid message: {error}", log=self.output()) from error
        if message.get("version") != PROTOCOL_VERSION:
            raise ProtocolError(f"the worker uses protocol {message.get('version')}, not {PROTOCOL_VERSION}")
        try:
            greeting = decode_reply(Started, message)
        except BadMessage as error:
            raise ProtocolError(f"the worker sent an invalid message: {error}", log=self.output()) from error
        if isinstance(greeting, Failed):
            raise WorkerStartError(
                f"{self.launch.python} cannot import torch: {greeting.message}",
                command=self.command,
                log=greeting.traceback,
                remedy="Install torch there, or choose another interpreter.",
            )
        return greeting

    @contextlib.contextmanager
    def child(self) -> Iterator[ChildProcess]:
        """Yield a fresh fork, which is ended when the block ends, whatever happens in it."""
        child = self._fork()
        self._child_pid = child.pid
        try:
            yield child
        finally:
            child.leave()
            self._child_pid = None

    def _fork(self) -> ChildProcess:
        self._output.clear()
        self._messages.clear()
        self._child_status = None
        self.strays = 0
        # A fresh child imports torch first.
        patience = START_SECONDS if self.launch.fresh else FORK_SECONDS
        try:
            self._control.send(b"f")
            hello = decode_reply(Hello, self.receive(time.monotonic() + patience))
            if isinstance(hello, Hello):
                return ChildProcess(self, int(hello.pid))
        except (OSError, ChildGone, Disconnected, WorkerTimeout, Garbled, BadMessage, ValueError):
            pass
        self.give_up()
        raise WorkerCrashed(
            "the environment's server is gone", exit_status=self._process.poll(), log=self.output()
        ) from None

    @property
    def alive(self) -> bool:
        """Whether the server itself is still running."""
        return not self._closed and self._process.poll() is None

    def output(self) -> str:
        """Return the end of what the child (or the server, while starting) printed."""
        self._take_output()
        left = f"\n[{self.strays} processes that it left running were ended]" if self.strays else ""
        return self._output.decode(errors="replace") + left

    def kill(self) -> None:
        """Kill the server and its child, from any thread; a thread that waits for a reply gets WorkerCrashed."""
        for group in (self._child_pid, self.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if group is not None and not self._closed:
                    os.killpg(group, signal.SIGKILL)

    def give_up(self) -> None:
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LEAVING_SECONDS)

    def close(self) -> None:
        """End the server and its child, and remove its folder."""
        if self._closed:
            return
        if self.greeting is None:
            # It is still importing torch, and reads no requests before that is done.
            self.kill()
        self._closed = True
        self._control.close()
        self._channel.close()
        try:
            self._process.wait(LEAVING_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._take_output()
        self._release()

    def _release(self) -> None:
        self._control.close()
        self._channel.close()
        for descriptor in (self._output_end, self._lifeline):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _take_output(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            while part := os.read(self._output_end, 1 << 16):
                self._output += part
                del self._output[:-OUTPUT_KEPT_BYTES]

    def send(self, message: dict[str, Any], deadline: float) -> None:
        data = memoryview(pack_message(message))
        ready = select.poll()
        ready.register(self._channel, select.POLLOUT)
        while data:
            if not ready.poll(max(deadline - time.monotonic(), 0.0) * 1000):
                raise WorkerTimeout("the request was not read in time")
            try:
                data = data[self._channel.send(data) :]
            except BlockingIOError:
                continue
            except OSError as error:  # the server has closed its end
                raise Disconnected from error

    def receive(self, deadline: float) -> dict[str, Any]:
        """Return the next message; raise ChildGone with the child's status if it ends instead."""
        poll = select.poll()
        for readable in (self._channel, self._control, self._output_end):
            poll.register(readable, select.POLLIN)
        while True:
            message = self._messages.next_message()
            if message is not None:
                return message
            if self._child_status is not None:
                raise ChildGone(self._child_status)
            left = deadline - time.monotonic()
            if left <= 0:
                raise WorkerTimeout("no reply in time")
            ready = {descriptor for descriptor, _ in poll.poll(min(left, 3600.0) * 1000)}
            if self._output_end in ready:
                self._take_output()
                if self._process.poll() is not None:
                    poll.unregister(self._output_end)
            if self._control.fileno() in ready:
                self._read_status()
            # Last: a child's last message may arrive at the same moment as its end.
            self._read_channel()

    def _read_channel(self) -> None:
        try:
            while part := self._channel.recv(1 << 16):
                self._messages.add(part)
        except BlockingIOError:
            return
        except OSError as error:
            raise Disconnected from error
        if self._child_status is None:
            raise Disconnected

    def _read_status(self) -> None:
        try:
            status = self._control.recv(STATUS.size)
        except OSError:  # it ended before reading what was sent to it
            raise Disconnected from None
        if len(status) < STATUS.size:
            raise Disconnected
        _, self._child_status, self.strays = STATUS.unpack(status)


def _command(launch: Launch, folder: Path) -> list[str]:
    wrapper = [word.replace("{folder}", str(folder)) for word in launch.wrapper]
    options = ["--temporary", of_fixed_length(str(folder))]
    options += ["--translate"] if launch.translate else []
    options += ["--small-pages"] if launch.small_pages else []
    options += ["--fresh"] if launch.fresh else []
    options += [word for module in launch.preload for word in ("--preload", module)]
    return [*freezing().command, *wrapper, launch.python, launch.worker, *options, *launch.search_path]
