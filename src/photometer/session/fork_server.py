"""ForkServer: an environment started once; every benchmark then runs in a fork of it, clean and cheap.

In: an Environment, a layout, and perhaps a wrapper command such as Valgrind. Out: children that answer verbs.
A child that crashes, hangs or runs out of memory is an error with its output; the server lives on.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

from photometer.errors import ProtocolError, SnippetError, WorkerCrashed, WorkerStartError, WorkerTimeout
from photometer.model.environment import Environment
from photometer.session.layout import WORKING_FOLDER, Layout, freezing, frozen_variables, of_fixed_length
from photometer.session.left_behind import remove_left_behind
from photometer.worker.protocol import PROTOCOL_VERSION, Disconnected, Garbled, receive_message, send_message
from photometer.worker.server import STATUS

WORKER = Path(__file__).parent.parent / "worker" / "__main__.py"
# Importing torch takes 1 to 3 s, 14 s under Valgrind, and several times that on a busy machine with a cold disk.
START_SECONDS = 300.0
# How long a child that was told to go may take before it is killed.
LEAVING_SECONDS = 5.0
# The end of what a child printed is what explains its death; a flood is not kept.
OUTPUT_KEPT_BYTES = 64 * 1024


class ForkServer:
    """A started environment. Use as a context manager, or call `close`."""

    starting: ClassVar[set[ForkServer]] = set()
    """Those that import torch just now: nobody has them yet, but a run that is stopped must end them too."""

    def __init__(
        self,
        environment: Environment | None = None,
        *,
        layout: Layout | None = None,
        wrapper: Sequence[str] = (),
        translate: bool = False,
        small_pages: bool = False,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.environment = environment or Environment.current()
        self.layout = layout or Layout()
        self.frozen = freezing().refused_because is None
        self.not_frozen_because = freezing().refused_because
        remove_left_behind()
        self.folder = Path(tempfile.mkdtemp(prefix=f"photometer-{os.getpid():010d}-"))
        self._output = bytearray()
        self._closed = False
        self._child_pid: int | None = None
        # A word of the wrapper may name a file in the server's folder, whose name is not known before.
        filled = [word.replace("{folder}", str(self.folder)) for word in wrapper]
        options = ["--temporary", of_fixed_length(str(self.folder)), *(["--translate"] if translate else [])]
        options += ["--small-pages"] if small_pages else []
        self.command = [*freezing().command, *filled, self.environment.python, str(WORKER), *options]
        self.command += self.environment.path
        self._control, far_control = socket.socketpair()
        self._channel, far_channel = socket.socketpair()
        # Nothing is ever written to the lifeline: when this process dies, its closing kills the running child.
        far_lifeline, self._lifeline = os.pipe()
        self._output_end, far_output = os.pipe()
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=far_control.fileno(),
                stdout=far_output,
                stderr=far_output,
                env=frozen_variables(self.layout, dict(self.environment.variables)),
                cwd=WORKING_FOLDER,
                start_new_session=True,
            )
        except OSError as error:
            self._release()
            raise WorkerStartError(
                f"the interpreter {self.environment.python} could not be started: {error}",
                command=self.command,
                remedy="Name a Python interpreter that has torch installed.",
            ) from error
        finally:
            far_control.close()
            os.close(far_output)
        os.set_blocking(self._output_end, False)
        # An interpreter that is not there has ended by now; waiting for its greeting tells that better.
        with contextlib.suppress(BrokenPipeError):
            socket.send_fds(self._control, [b"c"], [far_channel.fileno(), far_lifeline])
        far_channel.close()
        os.close(far_lifeline)
        self.pid = self._process.pid
        ForkServer.starting.add(self)
        try:
            self.greeting = self._greet(start_seconds)
        except BaseException:
            # Ctrl-C, say: under Valgrind what is still starting would go on for 15 s.
            self.kill()
            self.close()
            raise
        finally:
            ForkServer.starting.discard(self)

    def _greet(self, start_seconds: float) -> dict[str, Any]:
        try:
            greeting = self._await_message(time.monotonic() + start_seconds)
        except (_ChildGone, WorkerTimeout, Disconnected) as reason:
            self.close()
            what = "did not answer in time" if isinstance(reason, WorkerTimeout) else "ended while starting"
            raise WorkerStartError(
                f"the worker {what}",
                command=self.command,
                exit_status=self._process.poll(),
                log=self.output(),
                remedy="Check that this interpreter runs and can `import torch`.",
            ) from None
        if greeting.get("version") != PROTOCOL_VERSION:
            self.close()
            raise ProtocolError(f"the worker speaks protocol {greeting.get('version')}, not {PROTOCOL_VERSION}")
        if not greeting["ok"]:
            self.close()
            raise WorkerStartError(
                f"{self.environment.python} cannot import torch: {greeting['error']['message']}",
                command=self.command,
                log=greeting["error"]["traceback"],
                remedy="Install torch there, or name another interpreter.",
            )
        return greeting

    @contextlib.contextmanager
    def child(self) -> Iterator[ChildProcess]:
        """A fresh fork. It is gone when the block ends, whatever happened in it."""
        self._output.clear()
        try:
            self._control.send(b"f")
            greeting = self._await_message(time.monotonic() + START_SECONDS)
        except (OSError, _ChildGone, Disconnected) as error:
            raise WorkerCrashed(
                "the environment's server is gone", exit_status=self._process.poll(), log=self.output()
            ) from error
        child = ChildProcess(self, int(greeting["pid"]))
        self._child_pid = child.pid
        try:
            yield child
        finally:
            child.leave()
            self._child_pid = None

    @property
    def alive(self) -> bool:
        """Whether the server itself still runs."""
        return not self._closed and self._process.poll() is None

    def output(self) -> str:
        """The end of what the child (or the server, while starting) printed."""
        self._take_output()
        return self._output.decode(errors="replace")

    def kill(self) -> None:
        """End the server and its child at once, from any thread; whoever waits for an answer gets WorkerCrashed."""
        for group in (self._child_pid, self.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if group is not None and not self._closed:
                    os.killpg(group, signal.SIGKILL)

    def close(self) -> None:
        """End the server and whatever it runs, and remove its folder."""
        if self._closed:
            return
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
        import shutil

        self._control.close()
        self._channel.close()
        for descriptor in (self._output_end, self._lifeline):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take_output(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            while part := os.read(self._output_end, 1 << 16):
                self._output += part
                del self._output[:-OUTPUT_KEPT_BYTES]

    def _await_message(self, deadline: float) -> dict[str, Any]:
        """The next message on the channel; raises `_ChildGone` with its status if the child ends instead."""
        poll = select.poll()
        for readable in (self._channel, self._control, self._output_end):
            poll.register(readable, select.POLLIN)
        gone: _ChildGone | None = None
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise WorkerTimeout("no answer in time")
            ready = {descriptor for descriptor, _ in poll.poll(min(left, 3600.0) * 1000)}
            if self._output_end in ready:
                self._take_output()
                if self._process.poll() is not None:
                    poll.unregister(self._output_end)
            if self._channel.fileno() in ready:
                # The line is trusted to finish a message it began, unless its writer has died half-way through.
                return self._receive()
            if self._control.fileno() in ready:
                try:
                    status = self._control.recv(STATUS.size)
                except ConnectionResetError:  # it ended before it had read what was sent to it
                    raise Disconnected from None
                if len(status) < STATUS.size:
                    raise Disconnected
                # Its last words may have come in the same moment: look once more at the channel before giving up.
                gone = _ChildGone(STATUS.unpack(status)[1])
                if not select.select([self._channel], [], [], 0)[0]:
                    raise gone

    def _receive(self) -> dict[str, Any]:
        try:
            return receive_message(self._channel.fileno())
        except Garbled as error:
            raise ProtocolError(f"the worker sent {error}", log=self.output()) from error


class ChildProcess:
    """One fork: ask it verbs."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self.pid = pid
        self._alive = True

    def ask(self, verb: str, timeout_seconds: float = 3600.0, **fields: Any) -> dict[str, Any]:
        """Send a request and wait for its answer. The user's exception, a crash and a time-out are errors."""
        server = self._server
        send_message(server._channel.fileno(), {"verb": verb, **fields})
        try:
            answer = server._await_message(time.monotonic() + timeout_seconds)
        except _ChildGone as gone:
            self._alive = False
            raise crash_error(gone.status, server.output()) from None
        except WorkerTimeout:
            self.kill()
            raise WorkerTimeout(
                f"no answer within {timeout_seconds:g} s",
                log=server.output(),
                remedy="Give it longer (--timeout), or look for an endless loop or a deadlock.",
            ) from None
        except Disconnected:
            self._alive = False
            raise WorkerCrashed("the environment's server is gone", log=server.output()) from None
        if not answer["ok"]:
            error = answer["error"]
            raise SnippetError(
                f"{error['type']}: {error['message']}", exception_type=error["type"], log=error["traceback"]
            )
        return answer

    def leave(self) -> None:
        """Ask it to go; kill it if it does not."""
        if not self._alive:
            return
        with contextlib.suppress(OSError):
            send_message(self._server._channel.fileno(), {"verb": "exit"})
        if not self._await_end(LEAVING_SECONDS):
            self.kill()

    def kill(self) -> None:
        if not self._alive:
            return
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, signal.SIGKILL)
        self._await_end(LEAVING_SECONDS)
        self._alive = False

    def _await_end(self, seconds: float) -> bool:
        """Wait for the server to report this child's end; answers it may still send are dropped."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self._server._await_message(deadline)
            except (_ChildGone, Disconnected):
                self._alive = False
                return True
            except WorkerTimeout:
                return False


class _ChildGone(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def crash_error(status: int, output: str) -> WorkerCrashed:
    """A child's wait status in words, with what is likely behind it."""
    if not os.WIFSIGNALED(status):
        return WorkerCrashed(
            f"the benchmark's process ended by itself with exit status {os.WEXITSTATUS(status)}",
            exit_status=os.WEXITSTATUS(status),
            log=output,
            remedy="Something in the snippet called exit.",
        )
    number = signal.Signals(os.WTERMSIG(status))
    remedies = {
        signal.SIGKILL: "It was killed from outside: most likely the machine ran out of memory.",
        signal.SIGSEGV: "A segmentation fault in native code that the snippet called.",
        signal.SIGABRT: "Native code aborted; the lines above may say why.",
        signal.SIGILL: "An instruction this processor (or Valgrind, which has no AVX-512) does not know.",
    }
    return WorkerCrashed(
        f"the benchmark's process died of {number.name}",
        exit_status=-int(number),
        log=output,
        remedy=remedies.get(number),
    )
