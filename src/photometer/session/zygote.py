"""Zygote: the near side of a process that has imported what benchmarks need, and from which every server is forked.

In: a Launch, which the Session makes. Out: connections, each to a fork of that process (worker/zygote.py). Nothing here
waits: a zygote can be asked for forks, and for further zygotes, while it is still importing.
"""

from __future__ import annotations

import compileall
import contextlib
import dataclasses
import functools
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from photometer.errors import WorkerStartError
from photometer.session.layout import freezing, of_fixed_length
from photometer.session.left_behind import make_folder
from photometer.worker.protocol import NO_PATH, pack_message

WORKER = Path(__file__).parent.parent / "worker" / "__main__.py"
# Not the user's folder: counts must not depend on where photometer was started.
WORKING_FOLDER = "/"
# Requests are padded to a multiple of this, so that the names in them do not shift what lies in memory after them.
REQUEST_BYTES = 4096
# Those who connect while it imports wait in this queue.
BACKLOG = 128
# The file in the first zygote's folder into which it and those forked from it print while they import.
OUTPUT = "output"
# How long a process that was asked to end may take before it is killed.
LEAVING_SECONDS = 5.0


@dataclasses.dataclass(frozen=True)
class Launch:
    """How a server is started.

    The first zygote has these variables, runs this interpreter (in `wrapper`, a word of which may name a file in the
    zygote's `{folder}`), and imports torch with `search_path` first on its path. If there are side paths or imports, a
    second one is forked from it: with `side_path` first on the path, `importable` after the standard library, and
    `imports` done. With `translate`, Valgrind has then translated the code that most statements share.
    """

    python: str
    variables: tuple[tuple[str, str], ...]
    search_path: tuple[str, ...] = ()
    # Statements that the first zygote runs: imports that do not depend on a side's path.
    first_imports: tuple[str, ...] = ()
    wrapper: tuple[str, ...] = ()
    # What Valgrind translates ahead: "" for nothing, "plain", or "with scripts" for TorchScript, too.
    translate: str = ""
    small_pages: bool = True
    # How many cores it starts on: libgomp and MKL ask for that only once.
    width: int = 1
    side_path: tuple[str, ...] = ()
    importable: tuple[str, ...] = ()
    # Statements, in their order.
    imports: tuple[str, ...] = ()
    # Draws where the modules of `imports` lie in memory; 0 leaves them as they are.
    layout_seed: int = 0
    # Each child is a new process, not a fork; there is no zygote.
    fresh: bool = False
    # A file whose `main` takes the server's place.
    program: str = ""
    # Whether its zygotes may outlive this command, and be those of an earlier one.
    may_be_kept: bool = True

    @property
    def first(self) -> Launch:
        """Return the part that concerns the first zygote."""
        return dataclasses.replace(
            self, translate="", side_path=(), importable=(), imports=(), layout_seed=0, program=""
        )

    @property
    def as_zygote(self) -> Launch:
        """Return the part that concerns zygotes."""
        return dataclasses.replace(self, program="")

    @property
    def is_first(self) -> bool:
        return not (self.translate or self.side_path or self.importable or self.imports)

    @property
    def title(self) -> str:
        """Return a description in words."""
        what = "counts instructions" if self.wrapper else "times"
        return f"{what}, {self.python}"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a zygote is found: its socket, the folder that Callgrind writes to, and the record of its imports.

    A place that is kept outlives this process, for `keep_seconds` after its last use.
    """

    folder: Path
    socket: Path
    record: Path | None = None
    keep_seconds: float = 0.0

    @classmethod
    def private(cls) -> Place:
        folder = make_folder()
        return cls(folder, folder / "socket")

    @property
    def is_kept(self) -> bool:
        return self.record is not None


# Processes that are kept: children of this one, which are waited for if they end before it does.
_outliving: list[subprocess.Popen[bytes]] = []


class Zygote:
    """A zygote. `close` ends it, unless it is kept; `kill` ends it in any case, with all its forks."""

    def __init__(
        self, place: Place, dumps: Path, process: subprocess.Popen[bytes] | None, lifeline: int | None
    ) -> None:
        self.place = place
        self.dumps = dumps
        self.process = process
        self._lifeline = lifeline

    @classmethod
    def first(cls, launch: Launch, place: Place) -> Zygote:
        """Start the first zygote of an environment: a process that imports torch."""
        _outliving[:] = [process for process in _outliving if process.poll() is None]
        compile_worker(WORKER.parent)
        wrapper = [word.replace("{folder}", str(place.folder)) for word in launch.wrapper]
        command = [*freezing().command, *wrapper, launch.python, str(WORKER)]
        line, far_line = socket.socketpair()
        with line, _being_made(place) as (descriptors, lifeline):
            with far_line, (place.folder / OUTPUT).open("wb") as output:
                try:
                    process = subprocess.Popen(
                        command,
                        stdin=far_line.fileno(),
                        stdout=output,
                        stderr=output,
                        env=dict(launch.variables),
                        cwd=WORKING_FOLDER,
                        start_new_session=True,
                    )
                except OSError as error:
                    raise WorkerStartError(
                        f"the interpreter {launch.python} could not be started: {error}",
                        command=command,
                        remedy="Give a Python interpreter that has torch installed.",
                    ) from error
            made = cls(place, place.folder, process, lifeline)
            try:
                # If the interpreter has already ended, waiting for its greeting gives a better error.
                with contextlib.suppress(BrokenPipeError):
                    request = _request(launch, place, None, launch.search_path, launch.first_imports)
                    send_request(line, request, descriptors)
            except BaseException:
                # Ctrl-C came here: under Valgrind it would take a quarter of a minute to see that nobody asks for it.
                made.kill()
                process.wait()
                raise
            return made

    def branch(self, launch: Launch, place: Place) -> Zygote:
        """Fork a zygote that has a side's path, and runs its imports."""
        with _being_made(place) as (descriptors, lifeline):
            request = _request(launch, place, self.place, launch.side_path, launch.imports)
            with self.connect(request, descriptors):
                return Zygote(place, self.dumps, None, lifeline)

    def connect(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> socket.socket:
        """Return a connection to a fork that does what is requested. Raise OSError if the zygote is gone."""
        line = connect(self.place.socket)
        try:
            send_request(line, request, descriptors)
        except OSError:
            line.close()
            raise
        return line

    def output(self) -> str:
        """Return the output of its imports."""
        try:
            return (self.dumps / OUTPUT).read_text(errors="replace")
        except OSError:
            return ""

    def gone(self) -> WorkerStartError:
        """Return the error for a zygote that nobody can connect to."""
        return WorkerStartError(
            "the worker ended while starting",
            exit_status=self.exit_status,
            log=self.output(),
            remedy="Check that this interpreter runs and can `import torch`.",
        )

    @property
    def exit_status(self) -> int | None:
        return None if self.process is None else self.process.poll()

    def close(self) -> None:
        if self.place.is_kept:
            if self.process is not None:
                _outliving.append(self.process)
            return
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        if self.process is not None:
            try:
                self.process.wait(LEAVING_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
                self.process.wait()
        shutil.rmtree(self.place.folder, ignore_errors=True)

    def kill(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)


@functools.lru_cache(maxsize=1)
def compile_worker(folder: Path) -> None:
    """Write the bytecode of the worker's files, if it is missing.

    Workers write none. If one found it and another did not, the heaps of the two would differ, and so would the
    instructions of the allocator. Where it cannot be written, no worker finds any.
    """
    compileall.compile_dir(folder, maxlevels=0, quiet=2)


@contextlib.contextmanager
def _being_made(place: Place) -> Iterator[tuple[list[int], int | None]]:
    """Yield what is sent, the listening socket and two ends of a pipe, and our end of it, which is the lifeline.

    If the block fails, nothing is left.
    """
    # Nothing is ever written to the pipe: when this process dies, it closes, and the zygote ends. One that is kept gets
    # both ends, so that nobody closes it. All get three descriptors, and do the same with them: counts would differ.
    read_end, write_end = os.pipe()
    lifeline = None if place.is_kept else write_end
    try:
        with listen(place.socket) as listener:
            yield [listener.fileno(), read_end, write_end if place.is_kept else read_end], lifeline
    except BaseException:
        if lifeline is not None:
            os.close(lifeline)
        with contextlib.suppress(OSError):
            place.socket.unlink()
        shutil.rmtree(place.folder, ignore_errors=True)
        raise
    finally:
        os.close(read_end)
        if lifeline is None:
            os.close(write_end)


def _request(
    launch: Launch, place: Place, parent: Place | None, path: Sequence[str], imports: Sequence[str]
) -> dict[str, Any]:
    return {
        "become": "zygote",
        "title": launch.title,
        "path": list(path),
        "importable": list(launch.importable),
        "imports": list(imports),
        "layout_seed": launch.layout_seed,
        "translate": launch.translate,
        "small_pages": launch.small_pages,
        "folder": of_fixed_length(str(place.folder)),
        "socket": of_fixed_length(str(place.socket)),
        "record": of_fixed_length(str(place.record or NO_PATH)),
        "parent_record": of_fixed_length(str((parent and parent.record) or NO_PATH)),
        "keep_seconds": place.keep_seconds,
    }


def server_request(folder: Path, dumps: Path, program: str) -> dict[str, Any]:
    """Return the request for a server that uses `folder` and finds Callgrind's files in `dumps`."""
    return {
        "become": "server",
        "folder": of_fixed_length(str(folder)),
        "dumps": of_fixed_length(str(dumps)),
        "program": program,
    }


def send_request(line: socket.socket, request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    socket.send_fds(line, [b"r"], list(descriptors))
    line.sendall(pack_message(dict(request), multiple_of=REQUEST_BYTES))


@contextlib.contextmanager
def _short_name(path: Path) -> Iterator[str]:
    """Yield a name for a socket's path that is short enough: the system takes no more than 107 bytes."""
    if len(os.fsencode(path)) < 100:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def listen(path: Path) -> socket.socket:
    """Return a listening socket that only this user can connect to. Raise OSError if the name is taken."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        with _short_name(path) as name:
            listener.bind(name)
            os.chmod(name, 0o600)  # noqa: PTH101
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def connect(path: Path) -> socket.socket:
    """Return a connection to the zygote that listens there. Raise OSError if none does."""
    line = socket.socket(socket.AF_UNIX)
    try:
        with _short_name(path) as name:
            line.connect(name)
    except OSError:
        line.close()
        raise
    return line
