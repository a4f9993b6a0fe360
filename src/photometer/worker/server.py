"""The fork server: imports torch once, then forks a child for each benchmark, and does nothing else.

Standard input is the control socket. Each byte on it asks for a child; the server forks it, waits for its end and
reports its wait status. The child alone reads the request, from the channel, so that the server is in the same
state at every fork and no benchmark depends on those before it. End of file on the control socket ends the server.

If a process cannot safely be forked (`--fresh`, as on macOS), each child is a process of its own that imports torch
again: slower by that import, and the same requests.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from .child import serve_requests
from .messages import PROTOCOL_VERSION, Failed, Prepare, Reply, Started, decode_request, encode_reply, encode_request
from .protocol import send_message
from .python_loop import PythonLoop
from .user_error import describe_exception

CONTROL = 0
# Between what programs open one after another and the usual limit of 1,024, where Valgrind keeps its own.
LOWEST_DESCRIPTOR = 300
DESCRIPTORS = 400
# The variable that names folders of the user's code, as a JSON list.
IMPORTABLE = "PHOTOMETER_IMPORTABLE"
STATUS = struct.Struct(">qqq")  # the child's pid, its wait status, and how many processes it had left running


def main(arguments: list[str]) -> None:
    """`__main__.py [--temporary FOLDER] [--translate] [--small-pages] [--fresh] [--preload MODULE] [PATH …]`.

    Paths go first on sys.path; modules are imported after torch. `--child CHANNEL LIFELINE` is how a fresh child is
    started.
    """
    folder, translate, fresh, paths, preload = "", False, False, [], []
    inherited: tuple[int, int] | None = None
    words = iter(arguments)
    for word in words:
        if word == "--temporary":
            folder = next(words)
        elif word == "--translate":
            translate = True
        elif word == "--small-pages":
            refuse_huge_pages()
        elif word == "--fresh":
            fresh = True
        elif word == "--preload":
            preload.append(next(words))
        elif word == "--child":
            inherited = int(next(words)), int(next(words))
        else:
            paths.append(word)
    sys.argv[:] = [""]
    sys.path[0:0] = paths
    if inherited is not None:
        become_child(*inherited, preload)
    adopt_orphans()
    channel, lifeline = receive_descriptors()
    # get_ready takes out of them what no statement should see; a fresh child needs it.
    variables = dict(os.environ) if fresh else {}
    with dying_with(lifeline, folder):
        greeting = get_ready(translate, preload)
    send_message(channel, encode_reply(greeting))
    if isinstance(greeting, Started) and fresh:
        command = [sys.executable, *sys.orig_argv[1:], "--child", str(channel), str(lifeline)]
        serve_children(lambda: start_fresh(command, variables, channel, lifeline))
    elif isinstance(greeting, Started):
        serve_children(lambda: start_fork(channel, lifeline))
    # Reached when the near side is gone, or closed us: nobody else may be left to tidy up.
    end_strays()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def refuse_huge_pages() -> None:
    """Before any memory is taken: whether the kernel finds a huge page free is chance, worth up to 3 % to a fork."""
    import ctypes

    no_huge_pages = 41  # PR_SET_THP_DISABLE of <sys/prctl.h>
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(no_huge_pages, 1, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of whatever a child leaves running, so that it can be found and ended."""
    import ctypes

    child_subreaper = 36  # PR_SET_CHILD_SUBREAPER of <sys/prctl.h>
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(child_subreaper, 1, 0, 0, 0)


@contextlib.contextmanager
def dying_with(lifeline: int, folder: str) -> Iterator[None]:
    """End this server, folder and all, if the near side goes away while torch is being imported: 15 s under Valgrind.

    Afterwards the closed control socket tells it, and every child watches the lifeline itself.
    """

    def leave(*_: object) -> None:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    signal.signal(signal.SIGIO, leave)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
    hung_up = select.poll()
    hung_up.register(lifeline, select.POLLHUP)
    if hung_up.poll(0):
        leave()
    yield
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags)
    signal.signal(signal.SIGIO, signal.SIG_DFL)


def receive_descriptors() -> tuple[int, int]:
    """Channel and lifeline, sent over the control socket: their numbers are then the same in every server."""
    with socket.socket(fileno=os.dup(CONTROL)) as control:
        _, (channel, lifeline), _, _ = socket.recv_fds(control, 1, 2)
    return channel, lifeline


def get_ready(translate: bool, preload: list[str]) -> Reply:
    """Import torch and settle everything that would otherwise happen once, in whichever child comes first."""
    try:
        import torch

        # A statement that calls for these pays for it in every child otherwise.
        torch.set_num_threads(1)
        for module in preload:
            importlib.import_module(module)
        if translate:
            run_common_operations(torch)
        make_importable(json.loads(os.environ.pop(IMPORTABLE, "[]")))
    except Exception as error:
        return Failed(**describe_exception(error))
    gc.collect()
    gc.freeze()
    gc.disable()
    return Started(
        version=PROTOCOL_VERSION,
        pid=os.getpid(),
        python=sys.version.split()[0],
        executable=sys.executable,
        torch=str(torch.__version__),
    )


def make_importable(folders: list[str]) -> None:
    """Put folders of the user's code on the path: after the standard library, before installed packages.

    Done when torch is imported. The importer lists every folder it comes by, and one that changes would move counts by
    up to 1 %; so it comes by these only if a statement imports something that is not there yet.
    """
    packages = ("site-packages", "dist-packages")
    place = next((i for i, entry in enumerate(sys.path) if entry.endswith(packages)), len(sys.path))
    sys.path[place:place] = [folder for folder in folders if folder not in sys.path]


# The profiling executor optimises after two runs; the third and fourth run what it made.
SCRIPTED_RUNS = 4


def run_common_operations(torch: Any) -> None:
    """Make Valgrind translate the code that most statements share, once, before children inherit it."""
    from .valgrind_requests import running_on_valgrind, start_instrumentation

    start_instrumentation()
    x = torch.ones(4, 4, requires_grad=True)
    for _ in range(3):
        y = torch.add(x, x) * x
        y.sum().backward()
        x.detach()[0].view(-1)
        torch.mm(x, x)
        torch.empty(2)
    x.grad = None
    # No random numbers here: a child must find the generator as a fresh process has it.
    torch.nn.ReLU()(torch.nn.functional.linear(x, x))
    # Reading a request and compiling its loop was half of a small statement's time.
    sent = encode_request(Prepare("y = x * x", "x = torch.ones(4, 4)"))
    request, _ = decode_request(json.loads(json.dumps(sent)))
    assert isinstance(request, Prepare)
    PythonLoop(request.stmt, request.setup, globals={"torch": torch}).timeit(10)
    running_on_valgrind()
    run_scripted_model(torch)


def run_scripted_model(torch: Any) -> None:
    """Save, load and run a small TorchScript model, which touches a hundred thousand lines that nothing else does.

    Translated once, they are inherited: counting a scripted statement then takes a second instead of four.
    """
    import io
    import warnings

    class Layer(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x, w):  # type: ignore[no-untyped-def]
            return torch.relu(torch.mm(x, w) + x)

    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # TorchScript says that it is no longer developed; who measures it knows.
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(Layer()), buffer)
        buffer.seek(0)
        model = torch.jit.load(buffer)
    x = torch.ones(4, 4)
    w = torch.ones(4, 4, requires_grad=True)
    for _ in range(SCRIPTED_RUNS):
        model(x, w).sum().backward()


def serve_children(start: Callable[[], int]) -> None:
    while os.read(CONTROL, 1):
        pid = start()
        _, status = os.waitpid(pid, 0)
        strays = end_strays(pid)
        try:
            os.write(CONTROL, STATUS.pack(pid, status, strays))
        except BrokenPipeError:  # the near side died while the child ran
            return


def start_fork(channel: int, lifeline: int) -> int:
    pid = os.fork()
    if pid == 0:
        run_child(channel, lifeline)
    return pid


def start_fresh(command: list[str], variables: dict[str, str], channel: int, lifeline: int) -> int:
    """Start a child that imports torch by itself. Return its pid; whoever asked waits for it."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=variables, pass_fds=(channel, lifeline))
    # It is waited for by its pid: the object must not do so, too.
    child.returncode = 0
    return child.pid


def become_child(channel: int, lifeline: int, preload: list[str]) -> None:
    """Live the whole life of a fresh child; never return."""
    with dying_with(lifeline, ""):
        greeting = get_ready(translate=False, preload=preload)
    if isinstance(greeting, Failed):
        sys.stderr.write(greeting.traceback or greeting.message)
        sys.stderr.flush()
        os._exit(1)
    run_child(channel, lifeline)


def end_strays(group: int | None = None) -> int:
    """End what the child, the head of `group`, has started and left running. Return how many processes that were."""
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
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children") as file:  # noqa: PTH123
            return [int(pid) for pid in file.read().split()]
    except OSError:  # no /proc, or a kernel without CONFIG_PROC_CHILDREN
        return None


def out_of_reach(descriptor: int) -> int:
    """Move a descriptor to a number that the user's code will not hit by chance, and close it for what that starts."""
    start = LOWEST_DESCRIPTOR + int.from_bytes(os.urandom(2), "big") % DESCRIPTORS
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, start)
    os.close(descriptor)
    return moved


def run_child(channel: int, lifeline: int) -> None:
    """Live the whole life of a child; never return."""
    status = 1
    try:
        channel, lifeline = out_of_reach(channel), out_of_reach(lifeline)
        # A group of its own: the near side can then kill what the user's code has started, too.
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, CONTROL)
        os.close(nothing)
        serve_requests(channel, lifeline)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        # Not sys.exit: neither the server's exit handlers nor the interpreter's tidying belong to a child.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
