"""ForkServer: a server of an environment; every benchmark runs in a fork of it, clean and cheap.

In: a Launch, and the zygote that the server is a fork of. Out: children. Starting and waiting (`wait_until_ready`) are
two steps, so that several can start at the same time and any of them can be killed meanwhile. Only the Session creates
these. Where nothing can be forked (`FreshServer`), the server is a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from photometer.errors import ProtocolError, WorkerCrashed, WorkerStartError, WorkerTimeout
from photometer.model.units import format_bytes
from photometer.session.child_process import ChildGone, ChildProcess
from photometer.session.layout import freezing, of_fixed_length
from photometer.session.left_behind import make_folder
from photometer.session.zygote import LEAVING_SECONDS, WORKER, WORKING_FOLDER, Launch, Zygote, server_request
from photometer.worker.messages import PROTOCOL_VERSION, BadMessage, Failed, Hello, Started, decode_reply
from photometer.worker.protocol import Disconnected, Garbled, MessageBuffer, pack_message
from photometer.worker.server import STATUS
from photometer.worker.zygote import NOT_SHARED, SHADOWS

# Importing torch takes 1 to 3 s, 14 s under Valgrind, and several times that on a busy machine with a cold disk.
START_SECONDS = 300.0
# A fork takes 10 ms, 0.3 s under Valgrind, ten times that on a busy machine; after this long the server is stuck.
FORK_SECONDS = 60.0
# The end of a child's output explains its death; the rest is dropped.
OUTPUT_KEPT_BYTES = 64 * 1024


class ImportNotShared(Exception):
    """An import that each fork must do itself: a zygote that has done it cannot be used."""

    def __init__(self, statement: str, reason: str) -> None:
        super().__init__(f"{statement}: {reason}")
        self.statement = statement
        self.reason = reason


class PathShadows(Exception):
    """A side's path has a module that the zygote has already imported from elsewhere."""


class ForkServer:
    """A fork of a zygote. It has one child at a time."""

    zygote: Zygote | None = None
    _control: socket.socket | None = None
    _channel: socket.socket
    _lifeline: int | None
    _far_lifeline: int
    _far_output: int
    _pid: int | None = None

    def __init__(self, launch: Launch, zygote: Zygote) -> None:
        self._open(launch)
        self.zygote = zygote
        self.dumps = zygote.dumps
        self._channel, far_channel = socket.socketpair()
        self._channel.setblocking(False)
        try:
            request = server_request(self.folder, zygote.dumps, launch.program)
            self._control = zygote.connect(request, [far_channel.fileno(), self._far_lifeline, self._far_output])
        except OSError as error:
            self._closed = True
            self._release()
            raise zygote.gone() from error
        finally:
            self._close_far_ends(far_channel)

    def _open(self, launch: Launch) -> None:
        self.launch = launch
        self.frozen = freezing().refused_because is None
        self.not_frozen_because = freezing().refused_because
        self.greeting: Started | None = None
        self.folder = make_folder()
        self._output = bytearray()
        self._messages = MessageBuffer()
        self._closed = False
        self._child_pid: int | None = None
        self._child_status: int | None = None
        self.strays = 0
        # Nothing is ever written to the lifeline: when this process dies, the pipe closes, which kills the child.
        self._far_lifeline, self._lifeline = os.pipe()
        self._output_end, self._far_output = os.pipe()
        os.set_blocking(self._output_end, False)

    def _close_far_ends(self, far_channel: socket.socket) -> None:
        far_channel.close()
        os.close(self._far_lifeline)
        os.close(self._far_output)

    @property
    def pid(self) -> int:
        assert self._pid is not None, "the server has not sent its greeting"
        return self._pid

    @property
    def exit_status(self) -> int | None:
        return None

    @property
    def is_of_ready_zygote(self) -> bool:
        """Whether its zygote is a kept one that has finished its imports."""
        return self.zygote is not None and self.zygote.place.record is not None and self.zygote.place.record.exists()

    @property
    def command(self) -> list[str]:
        return [*freezing().command, *self.launch.wrapper, self.launch.python, str(WORKER)]

    def wait_until_ready(self, start_seconds: float = START_SECONDS) -> None:
        """Wait for the greeting. If the server does not start, close it and raise an error with the reason."""
        if self.greeting is not None:
            return
        try:
            greeting = self._greet(start_seconds)
            self._pid = self._checked(greeting.pid)
            self.greeting = greeting
        except BaseException:
            # For example Ctrl-C: under Valgrind a starting server would go on for 15 s.
            self.kill()
            self.close()
            raise

    def _greet(self, start_seconds: float) -> Started:
        try:
            message = self.receive(time.monotonic() + start_seconds)
        except (ChildGone, WorkerTimeout, Disconnected) as reason:
            what = "did not respond in time" if isinstance(reason, WorkerTimeout) else "ended while starting"
            raise WorkerStartError(
                f"the worker {what}",
                command=self.command,
                exit_status=self._start_status(),
                log=self._start_output(),
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
            raise self._refusal(greeting)
        return greeting

    def _checked(self, reported: str) -> int:
        """Return the pid if it can be that of a server: that process will be pinned, limited, and perhaps killed."""
        try:
            pid = int(reported)
            is_leader = pid > 1 and os.getsid(pid) == pid
            # Another user's process raises PermissionError.
            os.kill(pid, 0)
        except (OSError, ValueError, OverflowError):
            is_leader = False
        if not is_leader:
            raise ProtocolError(f"the worker reports the impossible pid {reported}")
        return pid

    def _refusal(self, failed: Failed) -> Exception:
        """Return the error for a zygote whose imports failed."""
        if failed.type == NOT_SHARED:
            statement, reason = json.loads(failed.message)
            return ImportNotShared(str(statement), str(reason))
        if failed.type == SHADOWS:
            return PathShadows(failed.message)
        return WorkerStartError(
            f"{self.launch.python} cannot import torch: {failed.message}",
            command=self.command,
            log=failed.traceback,
            remedy=_import_remedy(),
        )

    def _start_status(self) -> int | None:
        return None if self.zygote is None else self.zygote.exit_status

    def _start_output(self) -> str:
        return ("" if self.zygote is None else self.zygote.output()) + self.output()

    @contextlib.contextmanager
    def child(self) -> Iterator[ChildProcess]:
        """Yield a fresh fork, which is ended when the block ends, in any case."""
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
            assert self._control is not None
            self._control.send(b"f")
            hello = decode_reply(Hello, self.receive(time.monotonic() + patience))
            if isinstance(hello, Hello):
                return ChildProcess(self, int(hello.pid))
            status, message = None, "the environment's server sent an unexpected message"
        except WorkerTimeout:
            status, message = None, f"the environment's server started no process within {patience:.0f} s"
        except ChildGone as gone:
            status, message = gone.status, "a process ended as soon as the environment's server had started it"
        except (Garbled, BadMessage, ValueError) as error:
            status, message = None, f"the environment's server sent a message that cannot be read: {error}"
        except (OSError, Disconnected):
            status, message = None, "the environment's server has ended"
        self.give_up()
        exit_status = self.exit_status if status is None else os.waitstatus_to_exitcode(status)
        raise WorkerCrashed(message, exit_status=exit_status, log=self.output())

    @property
    def alive(self) -> bool:
        """Whether the server itself is still running."""
        return not self._closed and not self._has_ended(within_seconds=0.0)

    def output(self) -> str:
        """Return the end of what the child (or the server, while starting) printed."""
        self._take_output()
        left = f"\n[{self.strays} processes that it left running were ended]" if self.strays else ""
        return self._output.decode(errors="replace") + left

    def kill(self) -> None:
        """Kill the server and its child, from any thread; a thread that waits for a reply gets WorkerCrashed."""
        if not self.alive:
            # Their pids may be those of others by now.
            return
        for group in (self._child_pid, self._pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if group is not None:
                    os.killpg(group, signal.SIGKILL)
        if self._pid is None and self._control is not None:
            # It is not known yet: whoever waits for its greeting must not wait any longer.
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)

    def give_up(self) -> None:
        self.kill()
        self._has_ended(LEAVING_SECONDS)

    def close(self) -> None:
        """End the server and its child, and remove its folder."""
        if self._closed:
            return
        # It reads the end of the control socket, removes its folder and ends; its child ends with the lifeline.
        self._take_output()
        self._channel.close()
        self._close_lifeline()
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)
        if self.greeting is not None and not self._has_ended(LEAVING_SECONDS):
            self.kill()
        self._closed = True
        self._release()

    def _has_ended(self, within_seconds: float) -> bool:
        """Return whether the server has ended, or does so in this time."""
        if self._control is None:
            return True
        poll = select.poll()
        # The end of the other side is always reported; a status that is there to be read is not asked for.
        poll.register(self._control, 0)
        return bool(poll.poll(within_seconds * 1000))

    def _close_lifeline(self) -> None:
        lifeline, self._lifeline = self._lifeline, None
        if lifeline is not None:
            os.close(lifeline)

    def _release(self) -> None:
        if self._control is not None:
            self._control.close()
        self._channel.close()
        self._close_lifeline()
        os.close(self._output_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _take_output(self) -> bool:
        """Read the available output; return whether more may come."""
        try:
            while part := os.read(self._output_end, 1 << 16):
                self._output += part
                del self._output[:-OUTPUT_KEPT_BYTES]
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

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
        assert self._control is not None
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
            if self._output_end in ready and not self._take_output():
                # Nobody can write to it any more.
                poll.unregister(self._output_end)
            gone = self._control.fileno() in ready and not self._read_status()
            # Last: a child's last message may arrive at the same moment as its end, or as that of its server.
            self._read_channel(is_last=gone)
            if gone:
                message = self._messages.next_message()
                if message is None:
                    raise Disconnected
                return message

    def _read_channel(self, *, is_last: bool) -> None:
        has_read = False
        try:
            while part := self._channel.recv(1 << 16):
                self._messages.add(part)
                has_read = True
        except BlockingIOError:
            return
        except OSError as error:
            raise Disconnected from error
        # What came before the end counts: a zygote that refuses says why, and closes.
        if self._child_status is None and not is_last and not has_read:
            raise Disconnected

    def _read_status(self) -> bool:
        """Read how the child has ended; return False if the server itself is gone."""
        assert self._control is not None
        try:
            status = self._control.recv(STATUS.size)
        except OSError:  # it ended before reading what was sent to it
            return False
        if len(status) < STATUS.size:
            return False
        _, self._child_status, self.strays = STATUS.unpack(status)
        return True


class FreshServer(ForkServer):
    """A process that starts a new one for each child, where nothing can be forked safely."""

    def __init__(self, launch: Launch) -> None:
        self._open(launch)
        self.dumps = self.folder
        self._control, far_control = socket.socketpair()
        self._channel, far_channel = socket.socketpair()
        self._channel.setblocking(False)
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=far_control.fileno(),
                stdout=self._far_output,
                stderr=self._far_output,
                env=dict(launch.variables),
                cwd=WORKING_FOLDER,
                start_new_session=True,
            )
            self._pid = self._process.pid
            # If the interpreter has already ended, waiting for its greeting gives a better error.
            with contextlib.suppress(BrokenPipeError):
                socket.send_fds(self._control, [b"c"], [far_channel.fileno(), self._far_lifeline])
        except OSError as error:
            self._closed = True
            self._release()
            raise WorkerStartError(
                f"the interpreter {launch.python} could not be started: {error}",
                command=self.command,
                remedy="Give a Python interpreter that has torch installed.",
            ) from error
        finally:
            far_control.close()
            self._close_far_ends(far_channel)

    @property
    def exit_status(self) -> int | None:
        return self._process.poll()

    @property
    def command(self) -> list[str]:
        launch = self.launch
        options = ["--fresh", "--temporary", of_fixed_length(str(self.folder))]
        options += ["--small-pages"] if launch.small_pages else []
        options += [word for folder in launch.importable for word in ("--importable", folder)]
        return [launch.python, str(WORKER), *options, *launch.search_path, *launch.side_path]

    def _has_ended(self, within_seconds: float) -> bool:
        try:
            self._process.wait(within_seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        if self.greeting is None:
            # It is still importing torch, and reads no requests before that is done.
            self.kill()
        super().close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _start_status(self) -> int | None:
        return self._process.poll()

    def _start_output(self) -> str:
        return self.output()


def _import_remedy() -> str:
    """Return the remedy if torch cannot be imported.

    A memory limit is a frequent cause that no message names.
    """
    limit = resource.RLIM_INFINITY
    with contextlib.suppress(OSError):  # a container may refuse the call
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        return f"Processes may use {format_bytes(limit)} of memory at most here: allow more with `ulimit -v unlimited`."
    return "Install torch there, or choose another interpreter."
