"""A child's life: read requests from the channel, do what their verb says, answer, until the line closes.

`prepare` comes first and builds the loop; `time`, `count` and `spin` then use it. An exception of the
user's code becomes an answer with its traceback, and the child lives on.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from .device_blocks import DeviceBlocks
from .native_loop import NativeLoop
from .protocol import Disconnected, receive_message, send_message
from .python_frames import show_python_frames, take_frame_map
from .python_loop import PythonLoop
from .user_error import describe_exception
from .valgrind_requests import count_blocks, hooks

RunBlock = Callable[[int], float]

# A set-up that calls torch.compile leaves the seconds of its first call in a global of this name (see plan).
COMPILE_SECONDS = "photometer_compile_seconds"


def serve_requests(channel: int, lifeline: int) -> None:
    die_with(lifeline)
    drain(channel)
    send_message(channel, {"ok": True, "pid": own_pid()})
    with contextlib.closing(Child()) as child:
        while True:
            try:
                request = receive_message(channel)
            except Disconnected:
                return
            if request.get("verb") == "exit":
                return
            send_message(channel, child.answer(request))


def own_pid() -> str:
    """In as many digits whatever it is: a message of another length would be another state of Python's memory."""
    return f"{os.getpid():010d}"


def drain(channel: int) -> None:
    """Throw away what a child that died before us has left unread: all children share one channel, one at a time."""
    os.set_blocking(channel, False)
    try:
        while os.read(channel, 1 << 16):
            pass
    except BlockingIOError:
        pass
    finally:
        os.set_blocking(channel, True)


def die_with(lifeline: int) -> None:
    """Have the kernel end this child when the near side goes away, in the midst of user code too.

    The lifeline is a pipe on which nothing is ever written. With O_ASYNC its closing raises SIGIO, whose default is to
    end the process. (The channel itself will not do: SIGIO for a request can arrive after the request was read.)
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    # It may have gone before we asked.
    hung_up = select.poll()
    hung_up.register(lifeline, select.POLLHUP)
    if hung_up.poll(0):
        os._exit(1)


class Child:
    """The loop under measurement and the verbs on it."""

    def __init__(self) -> None:
        self._run_block: RunBlock | None = None
        self._loop: PythonLoop | NativeLoop | None = None
        self._namespace: dict[str, Any] = {}
        self._shows_python_frames = False
        self._opened = contextlib.ExitStack()

    def close(self) -> None:
        """Leave the blocks that are open: the variables of the set-up go."""
        self._run_block = None
        self._opened.close()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        verb = request.get("verb")
        try:
            if verb == "prepare":
                return {"ok": True, **self._prepare(request)}
            if verb == "facts":
                return {"ok": True, **torch_facts()}
            if self._run_block is None:
                raise RuntimeError(f"{verb!r} came before 'prepare'")
            if verb == "time":
                return {"ok": True, **self._time(request["number"], request.get("blocks"))}
            if verb == "count":
                return {"ok": True, **self._count(request)}
            if verb == "spin":
                return {"ok": True, "runs": self._spin(request["seconds"])}
            raise RuntimeError(f"unknown verb {verb!r}")
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            return {"ok": False, "error": describe_exception(error)}

    def _prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Settings, globals, set-up and warm-up. Answers what was found out on the way."""
        self.close()
        if request.get("cpus"):
            os.sched_setaffinity(0, request["cpus"])
        if request.get("folder"):
            os.chdir(request["folder"])
        sys.path[0:0] = request.get("path", [])
        import torch

        torch.set_num_threads(request.get("num_threads", 1))
        gc.disable()
        if request.get("python_frames"):
            self._shows_python_frames = show_python_frames()
        if request.get("device", "").startswith("cuda:"):
            torch.cuda.set_device(request["device"])
        if request.get("language") == "cpp":
            synchronize = wait_for_accelerator if request.get("synchronize") else None
            self._loop = NativeLoop(request["library"], request["symbol"], synchronize=synchronize)
        else:
            self._namespace = {"torch": torch, "__name__": "__main__"}
            exec(compile(request.get("globals_text", ""), "<globals>", "exec"), self._namespace)
            clock = synchronized_clock if request.get("synchronize") else time.perf_counter
            self._loop = PythonLoop(request["stmt"], request.get("setup", "pass"), clock, self._namespace)
        blocks = self._loop.open_blocks()
        if request.get("toggles") and isinstance(self._loop, NativeLoop):
            # Under Callgrind the toggles stand directly around the compiled loop.
            blocks = self._loop.open_blocks(before=hooks().toggle, after=hooks().toggle)
        run_block = self._opened.enter_context(blocks)
        self._run_block = DeviceBlocks(run_block, torch.cuda) if request.get("device_time") else run_block
        warmups = request.get("warmup_runs", 0)
        first_seconds = self._run_block(1) if warmups else 0.0
        if warmups > 1:
            self._run_block(warmups - 1)
        answer = {"pid": own_pid(), "first_seconds": first_seconds}
        # Not where instructions are counted: an answer of another length would be another layout.
        if COMPILE_SECONDS in self._namespace and not request.get("toggles"):
            answer["compile_seconds"] = self._namespace[COMPILE_SECONDS]
        return answer

    def _time(self, number: int, blocks: int | None) -> dict[str, Any]:
        """Seconds for `number` runs; with `blocks`, for so many blocks in a row, and how often each was preempted."""
        assert self._run_block is not None
        if blocks is None:
            return {"seconds": self._run_block(number)}
        seconds, preemptions = [], []
        wall, cpu = time.perf_counter(), time.thread_time()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        for _ in range(blocks):
            seconds.append(self._run_block(number))
            after = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
            preemptions.append(after - before)
            before = after
        return {
            "block_seconds": seconds,
            "block_preemptions": preemptions,
            "wall_seconds": time.perf_counter() - wall,
            "cpu_seconds": time.thread_time() - cpu,
        }

    def _count(self, request: dict[str, Any]) -> dict[str, Any]:
        """Counted blocks. Nothing here depends on the clock: an answer of another length would be another layout."""
        assert self._run_block is not None
        counted = count_blocks(
            self._run_block,
            request["number"],
            request["repeats"],
            warmup_runs=request["warmup_runs"],
            toggles_itself=isinstance(self._loop, NativeLoop),
        )
        return {**counted, "frame_map": take_frame_map()} if self._shows_python_frames else counted

    def _spin(self, seconds: float) -> int:
        """Run the statement for about so long: a sampling profiler looks on."""
        assert self._run_block is not None
        runs, number, end = 0, 1, time.perf_counter() + seconds
        while time.perf_counter() < end:
            block_seconds = self._run_block(number)
            runs += number
            if block_seconds < 0.05:
                number *= 2
        return runs


def torch_facts() -> dict[str, Any]:
    """How this torch was built. Asked in a child: some of it may touch the GPU, which the server must not."""
    import torch

    return {
        "torch": str(torch.__version__),
        "git_version": torch.version.git_version,
        "debug": bool(torch.version.debug),
        "cuda": torch.version.cuda,
        "build": torch.__config__.show(),
        "parallel": torch.__config__.parallel_info(),
        "cxx11_abi": bool(torch.compiled_with_cxx11_abi()),
        "num_threads": torch.get_num_threads(),
        "devices": ["cpu", *cuda_devices(torch)],
    }


def cuda_devices(torch: Any) -> list[str]:
    """ "cuda" and each by its number."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return ["cuda", *(f"cuda:{index}" for index in range(count))] if count else []


def wait_for_accelerator() -> None:
    """Work on an accelerator is queued: the clock says nothing before the queue is empty."""
    import torch

    torch.cuda.synchronize()


def synchronized_clock() -> float:
    wait_for_accelerator()
    return time.perf_counter()
