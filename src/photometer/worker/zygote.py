"""A zygote: a process that has imported what benchmarks need, and is forked for each server that is asked for.

The first zygote imports torch. Forks of it import more: what the set-ups of a side need, with that side's path. Each
has a socket on which it listens; a connection gets a fork of its own, and its first message says what that becomes:

    zygote [listener, lifeline]            import more, and listen on that socket
    server [channel, lifeline, output]     fork children for benchmarks (server.py)

The sockets and pipes in brackets are sent with the message. A zygote with a lifeline ends with its owner; one without
is kept, and ends when nobody has used it for a while. What waits, accepts and counts changes its own memory a little
with each use. So a fork of the zygote, the template, is what the others are forks of: it does nothing else, and is in
the same state at every fork. If the imports fail, whoever connects is sent the reason.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import stat
import struct
import sys
import time
import traceback
from typing import Any

from .child_life import read_nothing_from
from .compile_counts import compile_before_counting
from .imports import NotShared, import_all, shadowed
from .messages import PROTOCOL_VERSION, Failed, Prepare, decode_request, encode_reply, encode_request
from .protocol import NO_PATH, Disconnected, Garbled, receive_message, send_message
from .python_loop import PythonLoop
from .scatter import scatter_memory
from .server import adopt_orphans, dying_with, make_importable, put_first, refuse_huge_pages, serve_connection
from .torch_here import find_torch
from .user_error import describe_exception

# Over which the first zygote's owner sends its request.
OWNER = 0
MOST_DESCRIPTORS = 3
# A fork's pid, as it sends it to the zygote.
PID = struct.Struct(">q")
# The types of Failed that the near side deals with by itself.
NOT_SHARED = "NotShared"
SHADOWS = "Shadows"
# The exit status of a zygote: its end is not a use of the zygote it was forked from.
ZYGOTE_ENDED = 3
# How often a zygote wakes to see whether it is still wanted: after this, or after this share of the time that it is
# kept, so that a short time is not overstayed by much.
WAKE_SECONDS = 5.0
WAKE_SHARE = 1 / 60
LEAST_WAKE_SECONDS = 0.1
# How long one that failed waits for those who were about to connect.
REFUSING_SECONDS = 2.0
# What the zygote asks its template for. The first forks leave small objects behind, so those are rehearsals.
FORK, REHEARSE = b"f", b"r"
REHEARSALS = 3
# How long the template may take to fork: 0.3 s under Valgrind, a minute on a very busy machine. Clients wait as long.
FORKING_SECONDS = 300.0
# How long one whose owner is gone waits for its forks, which end for the same reason.
LAST_SECONDS = 1.0
# A kept zygote ends if less memory is free: this share of all, or this many bytes.
LEAST_FREE_SHARE = 0.05
LEAST_FREE_BYTES = 1 << 30
# The profiling executor optimises after two runs; the third and fourth run what it made.
SCRIPTED_RUNS = 4

# Whether this process is a fork of one that has imported torch, or found that there is none.
_has_imported = False


def main() -> None:
    """Run the first zygote: the request comes over standard input. Never return."""
    sys.argv[:] = [""]
    with socket.socket(fileno=os.dup(OWNER)) as line:
        request, descriptors = receive_request(line)
    read_nothing_from(OWNER)
    if request.get("small_pages"):
        refuse_huge_pages()
    become_zygote(request, descriptors)


def receive_request(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the request for the fork, and the descriptors that came with it."""
    _, descriptors, _, _ = socket.recv_fds(line, 1, MOST_DESCRIPTORS)
    return receive_message(line.fileno()), descriptors


def become_zygote(request: dict[str, Any], descriptors: list[int]) -> None:
    """Do the imports of the request, then fork for each connection. Never return."""
    number, lifeline, far_lifeline = descriptors
    started_at, inode = time.time_ns(), _inode(request["socket"])
    listener = socket.socket(fileno=number)
    with dying_with(lifeline, request["folder"]):
        failed = get_ready(request)
    if failed is not None:
        refuse(listener, failed)
    else:
        if not write_record(request, started_at):
            # Nobody could know whether its imports are still current, so it ends with its command.
            request["keep_seconds"] = 0.0
        serve_forks(listener, (lifeline, far_lifeline), inode, request)
    if _inode(request["socket"]) == inode:
        # Otherwise they are those of the zygote that has replaced this one.
        shutil.rmtree(request["folder"], ignore_errors=True)
        for file in (request["record"], request["socket"]):
            with contextlib.suppress(OSError):
                os.unlink(file)  # noqa: PTH108
    os._exit(ZYGOTE_ENDED)


def get_ready(request: dict[str, Any]) -> Failed | None:
    """Import, and do everything that would otherwise happen once, in whichever child comes first."""
    is_first = not _has_imported
    try:
        if not is_first and (name := shadowed(request["path"])):
            return Failed(SHADOWS, name, "")
        put_first(request["path"])
        torch = find_torch()
        if is_first and torch is not None:
            # A statement that calls for these pays for it in every child otherwise.
            torch.set_num_threads(1)
        make_importable(request["importable"])
        if request["imports"]:
            import_more(request, torch)
        if request["translate"]:
            run_common_operations(torch)
        if request["translate"] == "with scripts" and torch is not None:
            run_scripted_model(torch)
        if request["translate"] == "with compiler" and torch is not None:
            compile_before_counting(f"{request['folder']}/compile", request["imports"])
    except NotShared as refused:
        return Failed(NOT_SHARED, json.dumps([refused.statement, refused.reason]), "")
    except Exception as error:
        return Failed(**describe_exception(error))
    _note_imported()
    gc.collect()
    gc.freeze()
    gc.disable()
    return None


def _note_imported() -> None:
    """Note, for the forks, the imports of the first zygote."""
    global _has_imported
    _has_imported = True


def import_more(request: dict[str, Any], torch: Any) -> None:
    """Import, in another memory layout if requested. Valgrind's instrumentation is off meanwhile, which is faster."""
    gc.disable()
    scattered = scatter_memory(request["layout_seed"], torch) if request["layout_seed"] else []
    import_all(request["imports"])
    # Freed after the imports, so that these lie in the holes between.
    del scattered


def run_common_operations(torch: Any) -> None:
    """Make Valgrind translate the code that most statements share, once, before children inherit it."""
    from .valgrind_requests import running_on_valgrind, start_instrumentation

    start_instrumentation()
    if torch is not None:
        run_common_tensors(torch)
    # Reading a request and compiling its loop was half of a small statement's time.
    sent = encode_request(Prepare("y = x * x", "x = 4" if torch is None else "x = torch.ones(4, 4)"))
    request, _ = decode_request(json.loads(json.dumps(sent)))
    assert isinstance(request, Prepare)
    PythonLoop(request.stmt, request.setup, globals={"torch": torch}).timeit(10)
    running_on_valgrind()


def run_common_tensors(torch: Any) -> None:
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


def run_scripted_model(torch: Any) -> None:
    """Save, load and run a small TorchScript model, which executes a hundred thousand lines that nothing else does.

    Forks inherit their translation: counting a scripted statement then takes a second instead of four. For others it
    would only be three seconds more.
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


class Template:
    """A fork of this process that stays as it is now, and is forked for each connection. The forks become our children.

    Listener and lifelines are ours alone.
    """

    def __init__(self, listener: socket.socket, lifelines: tuple[int, int]) -> None:
        adopt_orphans()
        asked, self._ask = os.pipe()
        self._hand_over, far_end = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            for ours in (self._hand_over, listener):
                ours.close()
            for descriptor in (self._ask, *lifelines):
                os.close(descriptor)
            fork_when_asked(asked, far_end)
        os.close(asked)
        far_end.close()
        self._hand_over.settimeout(FORKING_SECONDS)
        os.write(self._ask, REHEARSE * REHEARSALS)

    def fork_for(self, line: socket.socket) -> int:
        """Have a fork serve a connection. Return its pid; raise OSError if the template is gone, or stuck."""
        os.write(self._ask, FORK)
        sent = self._hand_over.recv(PID.size)
        if len(sent) < PID.size:
            raise ConnectionResetError("the template has ended")
        socket.send_fds(self._hand_over, [b"l"], [line.fileno()])
        (pid,) = PID.unpack(sent)
        return int(pid)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def fork_when_asked(asked: int, hand_over: socket.socket) -> None:
    """Be the template: fork for each byte, until the zygote is gone. Never return."""
    try:
        while word := os.read(asked, 1):
            fork_once(asked, hand_over, is_rehearsal=word == REHEARSE)
        end_at_once()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


def fork_once(asked: int, hand_over: socket.socket, *, is_rehearsal: bool) -> None:
    """Fork a process that leaves its fork to the zygote. Nothing that this takes is kept: the next one is the same."""
    between = os.fork()
    if between:
        _, status = os.waitpid(between, 0)
        if status != signal.SIGKILL:
            raise ChildProcessError("a process could not be forked")
        return
    if is_rehearsal or os.fork():
        end_at_once()
    os.close(asked)
    serve(hand_over)


def end_at_once() -> None:
    """End without a trace: at any other end, Callgrind would write a file."""
    os.kill(os.getpid(), signal.SIGKILL)


def take_over(hand_over: socket.socket) -> socket.socket:
    """Return the connection that the zygote has accepted."""
    hand_over.sendall(PID.pack(os.getpid()))
    _, lines, _, _ = socket.recv_fds(hand_over, 1, 1)
    hand_over.close()
    if not lines:
        raise Disconnected
    return socket.socket(fileno=lines[0])


def serve_forks(listener: socket.socket, lifelines: tuple[int, int], inode: int, request: dict[str, Any]) -> None:
    """Fork for each connection, until the owner is gone, or there was no connection for a while.

    `inode` is that of the socket by which the zygote is found.
    """
    lifeline, _ = lifelines
    is_kept, keep_seconds = has_record(request), request["keep_seconds"]
    template = Template(listener, lifelines)
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(lifeline, select.POLLHUP)
    forks: set[int] = set()
    last_used = _seconds()
    while True:
        ready = dict(poll.poll(_wake_seconds(keep_seconds if is_kept else float("inf")) * 1000))
        ended, servers_ended = _reap()
        forks -= ended
        if template.pid in ended:
            # Killed, perhaps because memory was short.
            return
        if lifeline in ready:
            break
        if listener.fileno() in ready:
            line, _ = listener.accept()
            with line:
                try:
                    forks.add(template.fork_for(line))
                except OSError:
                    break
        if ready or servers_ended:
            last_used = _seconds()
        elif is_kept and not forks and (_seconds() - last_used > keep_seconds or _memory_is_short()):
            break
        elif is_kept and _inode(request["socket"]) != inode:
            # Nobody can find it any more.
            break
    template.end()
    if lifeline in ready:
        _await_forks(forks)


def _wake_seconds(keep_seconds: float) -> float:
    return min(max(keep_seconds * WAKE_SHARE, LEAST_WAKE_SECONDS), WAKE_SECONDS)


def serve(hand_over: socket.socket) -> None:
    """Become what the connection that comes over `hand_over` requests; never return."""
    try:
        line = take_over(hand_over)
        if not _is_own(line):
            os._exit(1)
        request, descriptors = receive_request(line)
        # A group of its own, so that it can be killed with all that it starts.
        os.setsid()
        if request["become"] == "zygote":
            line.close()
            become_zygote(request, descriptors)
        channel, lifeline, output = descriptors
        serve_connection(
            line.detach(),
            request["folder"],
            channel,
            lifeline,
            output,
            dumps=request["dumps"],
            program=request["program"],
        )
    except (Disconnected, BrokenPipeError, ConnectionResetError):
        # Whoever connected has gone.
        os._exit(1)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


def refuse(listener: socket.socket, failed: Failed) -> None:
    """Send the reason to each connection, present or soon to come, and to those that wait for a zygote in between."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while poll.poll(REFUSING_SECONDS * 1000):
        line, _ = listener.accept()
        with line, contextlib.suppress(Disconnected, Garbled, OSError, KeyError, ValueError):
            request, descriptors = receive_request(line)
            if request["become"] == "zygote":
                refuse(socket.socket(fileno=descriptors[0]), failed)
            else:
                send_message(descriptors[0], encode_reply(failed))
            for number in descriptors:
                with contextlib.suppress(OSError):
                    os.close(number)


def has_record(request: dict[str, Any]) -> bool:
    """Return whether the zygote is kept: others have no record."""
    return not str(request["record"]).endswith(NO_PATH)


def write_record(request: dict[str, Any], started_at: int) -> bool:
    """Write the files that this zygote has imported, if it is kept, so that others can check that they are current.

    A fork does it: a zygote that is kept must be in the same state as one that is not. Return whether it succeeded.
    """
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        return status == 0
    status = 1
    try:
        # On a full disk, and without /proc, there is no record.
        with contextlib.suppress(OSError, ValueError, KeyError):
            if has_record(request):
                record = make_record(request, started_at)
                with open(f"{request['record']}.partial", "w") as file:  # noqa: PTH123
                    json.dump(record, file)
                os.replace(f"{request['record']}.partial", request["record"])  # noqa: PTH105
            status = 0
    finally:
        os._exit(status)


def make_record(request: dict[str, Any], started_at: int) -> dict[str, Any]:
    """Return the zygote's identity, and what `_imported` says of each of its files."""
    before: dict[str, list[int]] = {}
    if not request["parent_record"].endswith(NO_PATH):
        with open(request["parent_record"]) as file:  # noqa: PTH123
            before = json.load(file)["files"]
    files = {str(name) for module in list(sys.modules.values()) if (name := getattr(module, "__file__", None))}
    with open("/proc/self/maps") as maps:  # noqa: PTH123
        files |= {fields[5].strip() for line in maps if len(fields := line.split(maxsplit=5)) == 6}
    found_in = {}
    for name, module in list(sys.modules.items()):
        place = os.path.dirname(getattr(module, "__file__", None) or "")  # noqa: PTH120
        if place and "." not in name:
            found_in[name] = os.path.dirname(place) if hasattr(module, "__path__") else place  # noqa: PTH120
    pid = os.getppid()
    with open(f"/proc/{pid}/stat") as stat_file:  # noqa: PTH123
        ticks = int(stat_file.read().rpartition(")")[2].split()[19])
    return {
        "pid": pid,
        "version": PROTOCOL_VERSION,
        # Since the machine's start: with the pid it names a process, whatever becomes of the clock.
        "started_ticks": ticks,
        "title": request["title"],
        "imports": request["imports"],
        "path": list(sys.path),
        "found_in": found_in,
        "files": {
            file: before.get(file) or imported
            for file in sorted(files)
            if file.startswith("/") and (imported := _imported(file, started_at))
        },
    }


def _imported(file: str, started_at: int) -> list[int]:
    """Return when the zygote that loaded a file began, and when the file was changed; nothing if it is no file."""
    try:
        status = os.stat(file)  # noqa: PTH116
    except OSError:
        return []
    return [started_at, status.st_mtime_ns, status.st_ctime_ns] if stat.S_ISREG(status.st_mode) else []


def _reap() -> tuple[set[int], int]:
    """End what forks that have ended left running. Return which have ended, and how many of them were servers."""
    ended: set[int] = set()
    servers = 0
    with contextlib.suppress(ChildProcessError):
        while True:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None:
                break
            # A server that died has ended nothing. Until its status is taken, no other group has its id.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(found.si_pid, signal.SIGKILL)
            _, status = os.waitpid(found.si_pid, 0)
            ended.add(found.si_pid)
            servers += status != ZYGOTE_ENDED << 8
    return ended, servers


def _await_forks(forks: set[int]) -> None:
    """Wait a moment for forks that are ending: their next parent may never collect their status."""
    deadline = _seconds() + LAST_SECONDS
    while forks and _seconds() < deadline:
        forks -= _reap()[0]
        time.sleep(0.005)


def _is_own(line: socket.socket) -> bool:
    """Return whether the process at the other end is this user's."""
    credentials = struct.Struct("3i")
    _, uid, _ = credentials.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size))
    return bool(uid == os.getuid())


def _inode(path: str) -> int:
    """Return the inode of the socket by which it is found; 0 if that is gone."""
    try:
        return os.stat(path).st_ino  # noqa: PTH116
    except OSError:
        return 0


def _memory_is_short() -> bool:
    try:
        with open("/proc/meminfo") as file:  # noqa: PTH123
            sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in file)}
    except (OSError, ValueError, IndexError):
        return False
    least = max(sizes.get("MemTotal", 0) * LEAST_FREE_SHARE, LEAST_FREE_BYTES)
    return sizes.get("MemAvailable", LEAST_FREE_BYTES) < least


def _seconds() -> float:
    """Return a clock that goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
