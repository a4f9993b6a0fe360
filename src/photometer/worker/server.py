"""The server: forks a child for each benchmark, and does nothing else.

It is a fork of a zygote (zygote.py), which has imported torch and what set-ups import. Standard input is the control
socket. Each byte on it asks for a child; the server forks it, waits for its end and reports its wait status. The child
alone reads the request, from the channel, so that the server is in the same state at every fork and no benchmark
depends on those before it. End of file on the control socket ends the server.

If a process cannot safely be forked (`--fresh`, as on macOS), there is no zygote: the server imports torch, to see that
it can, and each child is a process of its own that imports it again. Slower by that import, and the same requests.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location

from .child_life import live_as_child, out_of_reach, own_pid, read_nothing_from
from .messages import PROTOCOL_VERSION, Failed, Reply, Started, encode_reply
from .protocol import send_message
from .torch_here import find_torch
from .user_error import describe_exception

CONTROL = 0
STATUS = struct.Struct(">qqq")  # the child's pid, its wait status, and how many processes it had left running


def serve_connection(
    control: int, folder: str, channel: int, lifeline: int, output: int, *, dumps: str, program: str
) -> None:
    """Be the server behind a connection, in a fork of a zygote; never return.

    `folder` is the server's own, `dumps` the one into which Callgrind writes. A `program` is a file whose `main` takes
    the server's place.
    """
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.dup2(control, CONTROL)
    os.close(control)
    adopt_orphans()
    if program:
        run_program(program, channel, lifeline, folder)
    send_message(channel, encode_reply(greeting()))
    orphan = serve_children(lambda: start_fork(channel, lifeline))
    if orphan:
        remove_dumps(dumps, orphan)
    leave(folder)


def run_program(program: str, channel: int, lifeline: int, folder: str) -> None:
    spec = spec_from_file_location("_photometer_program", program)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(channel, lifeline, folder)
    os._exit(0)


def greeting() -> Started:
    """Return the first message of a server."""
    return Started(
        version=PROTOCOL_VERSION,
        pid=own_pid(),
        python=sys.version.split()[0],
        executable=sys.executable,
        torch=str(sys.modules["torch"].__version__) if "torch" in sys.modules else "",
    )


def remove_dumps(folder: str, pid: int) -> None:
    """Remove Callgrind's files of a child: the near side may have died before it did."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208
            if name.partition(".")[2].partition(".")[0] == str(pid):
                os.unlink(f"{folder}/{name}")  # noqa: PTH108


def leave(folder: str) -> None:
    """End the server. The near side is gone, or closed us, so nobody else may clean up."""
    end_strays()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def main(arguments: list[str]) -> None:
    """`__main__.py --fresh [--temporary FOLDER] [--small-pages] [--importable FOLDER] [PATH …]`.

    Paths go first on sys.path, importable folders after the standard library. `--child CHANNEL LIFELINE` is how a child
    is started.
    """
    folder, paths, importable = "", [], []
    inherited: tuple[int, int] | None = None
    words = iter(arguments)
    for word in words:
        if word == "--temporary":
            folder = next(words)
        elif word == "--small-pages":
            refuse_huge_pages()
        elif word == "--importable":
            importable.append(next(words))
        elif word == "--child":
            inherited = int(next(words)), int(next(words))
        elif word != "--fresh":
            paths.append(word)
    sys.argv[:] = [""]
    put_first(paths)
    if inherited is not None:
        become_child(*inherited, importable)
    adopt_orphans()
    channel, lifeline = receive_descriptors()
    variables = dict(os.environ)
    with dying_with(lifeline, folder):
        reply = import_torch(importable)
    send_message(channel, encode_reply(reply))
    if isinstance(reply, Started):
        command = [sys.executable, *sys.orig_argv[1:], "--child", str(channel), str(lifeline)]
        serve_children(lambda: start_fresh(command, variables, channel, lifeline))
    leave(folder)


def import_torch(importable: list[str]) -> Reply:
    try:
        torch = find_torch()
        if torch is not None:
            torch.set_num_threads(1)
        make_importable(importable)
    except Exception as error:
        return Failed(**describe_exception(error))
    return greeting()


def refuse_huge_pages() -> None:
    """Call it before any memory is taken: whether a huge page is free is random, and worth up to 3 % to a fork."""
    import ctypes

    no_huge_pages = 41  # PR_SET_THP_DISABLE of <sys/prctl.h>
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(no_huge_pages, 1, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of processes that a child leaves running, so that they can be found and ended."""
    import ctypes

    child_subreaper = 36  # PR_SET_CHILD_SUBREAPER of <sys/prctl.h>
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(child_subreaper, 1, 0, 0, 0)


@contextlib.contextmanager
def dying_with(lifeline: int, folder: str) -> Iterator[None]:
    """End this process, folder and all, if the near side goes away during the block: imports take 15 s under Valgrind.

    Afterwards a closed socket tells it, and every child watches the lifeline itself.
    """

    def give_up(*_: object) -> None:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    signal.signal(signal.SIGIO, give_up)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
    hung_up = select.poll()
    hung_up.register(lifeline, select.POLLHUP)
    if hung_up.poll(0):
        give_up()
    yield
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags)
    signal.signal(signal.SIGIO, signal.SIG_DFL)


def receive_descriptors() -> tuple[int, int]:
    """Channel and lifeline, sent over the control socket: their numbers are then the same in every server."""
    with socket.socket(fileno=os.dup(CONTROL)) as control:
        _, (channel, lifeline), _, _ = socket.recv_fds(control, 1, 2)
    return channel, lifeline


def put_first(folders: list[str]) -> None:
    """Put a side's folders first on the path, also before what is installed editable.

    Build back ends that compile (meson-python, scikit-build-core) install a finder that comes before the path, and both
    sides would import the user's own sources.
    """
    sys.path[0:0] = folders
    if folders:
        sys.meta_path.sort(key=lambda finder: "editable" in str(getattr(finder, "__module__", "")))


def make_importable(folders: list[str]) -> None:
    """Put folders of the user's code on the path: after the standard library, before installed packages.

    Done when torch is imported. The importer lists every folder it comes by, and one that changes would move counts by
    up to 1 %; so it comes by these only if a statement imports something that is not there yet.
    """
    packages = ("site-packages", "dist-packages")
    place = next((i for i, entry in enumerate(sys.path) if entry.endswith(packages)), len(sys.path))
    sys.path[place:place] = [folder for folder in folders if folder not in sys.path]


def serve_children(start: Callable[[], int]) -> int:
    """Start a child per byte on the control socket, until that closes.

    Return the pid of a child during whose life the near side died, or 0.
    """
    while _read_byte():
        if orphan := serve_child(start):
            return orphan
    return 0


def serve_child(start: Callable[[], int]) -> int:
    """Start a child, and report its end: return its pid if nobody is there to read that, or 0.

    Nothing is kept, so that the next child is a fork of the same state.
    """
    pid = start()
    _, status = os.waitpid(pid, 0)
    strays = end_strays(pid)
    try:
        os.write(CONTROL, STATUS.pack(pid, status, strays))
    except BrokenPipeError:  # the near side died while the child ran
        return pid
    return 0


def _read_byte() -> bytes:
    try:
        return os.read(CONTROL, 1)
    except ConnectionResetError:  # the near side died before it read a status
        return b""


def start_fork(channel: int, lifeline: int) -> int:
    pid = os.fork()
    if pid == 0:
        live_as_child(lambda: take_line(channel, lifeline))
    return pid


def start_fresh(command: list[str], variables: dict[str, str], channel: int, lifeline: int) -> int:
    """Start a child that imports torch by itself. Return its pid; whoever asked waits for it."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=variables, pass_fds=(channel, lifeline))
    # It is waited for by its pid: the object must not do so, too.
    child.returncode = 0
    return child.pid


def become_child(channel: int, lifeline: int, importable: list[str]) -> None:
    """Run the whole life of a fresh child; never return."""
    with dying_with(lifeline, ""):
        reply = import_torch(importable)
    if isinstance(reply, Failed):
        sys.stderr.write(reply.traceback or reply.message)
        sys.stderr.flush()
        os._exit(1)
    live_as_child(lambda: take_line(channel, lifeline))


def take_line(channel: int, lifeline: int) -> tuple[int, int]:
    """Return a child's own channel and lifeline, and leave the control socket to the server."""
    channel, lifeline = out_of_reach(channel), out_of_reach(lifeline)
    read_nothing_from(CONTROL)
    return channel, lifeline


def end_strays(group: int | None = None) -> int:
    """End processes that the child, the head of `group`, left running. Return how many there were."""
    strays = 0
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return strays
        if ended:
            continue
        running = running_children()
        if running is None:
            # What has not left the child's group can be ended all the same.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if group is not None:
                    os.killpg(group, signal.SIGKILL)
            return strays
        # Killing one may hand us its children: look again until there are none.
        for pid in running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            strays += 1


def running_children() -> list[int] | None:
    """Return the pids of this server's children; None if the system does not list them."""
    try:
        # A path with the pid in it would not always have the same length.
        with open("/proc/thread-self/children") as file:  # noqa: PTH123
            return [int(pid) for pid in file.read().split()]
    except OSError:  # no /proc, or a kernel without CONFIG_PROC_CHILDREN
        return None
