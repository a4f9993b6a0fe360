"""A child's life: read requests from the channel, do what they say, reply, until the line closes.

`Prepare` comes first and builds the loop; `Time`, `Count` and `Spin` then use it. An exception of the user's code
becomes a reply with its traceback, and the child lives on.
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
from collections.abc import Callable

# Taken before any code of the user's runs, which may put something else in their place.
from time import perf_counter, thread_time
from typing import Any

from .compile_report import report_compile, use_compile_cache
from .device_blocks import DeviceBlocks
from .device_modes import measure_modes
from .figure_messages import CountWork, MeasureDevice, Observe
from .graph_blocks import GraphBlocks
from .memory import measure_memory
from .messages import (
    Count,
    Counted,
    DescribeTorch,
    Exit,
    Failed,
    Hello,
    LookAround,
    MeasureMemory,
    Prepare,
    Prepared,
    Reply,
    ReportCompile,
    Request,
    Spin,
    Spun,
    Surroundings,
    Time,
    TimeBlocks,
    Timed,
    TimedBlocks,
    TorchFacts,
    decode_request,
    encode_reply,
)
from .native_loop import NativeLoop
from .protocol import Disconnected, receive_message, send_message
from .python_frames import PythonFrames
from .python_loop import PythonLoop
from .scatter import call_deeper, make_room_for, move_end, scatter_memory, stack_levels
from .user_error import describe_exception
from .valgrind_requests import count_blocks, hooks
from .work_counter import count_work, observe

RunBlock = Callable[[int], float]

# A set-up that calls torch.compile leaves the seconds of its first call in a global of this name (see plan).
COMPILE_SECONDS = "photometer_compile_seconds"
# A name among those given to a fork: a function of the number of runs that is called before each block, untimed.
BEFORE_BLOCK = "photometer_before_block"

# Of objects made before the collector runs: more than any statement makes, and less than 2^31.
HIGHEST_THRESHOLD = 2_000_000_000

# Below the smallest normal float32 (1.2e-38): a processor that flushes denormals makes it zero.
DENORMAL = 1e-40


def serve_requests(channel: int, lifeline: int, names: dict[str, Any] | None = None) -> None:
    """Serve until the near side says `Exit` or goes away. Statements see `names` as globals."""
    die_with(lifeline)
    drain(channel)
    pid = os.getpid()
    send_message(channel, encode_reply(Hello(own_pid())))
    with contextlib.closing(Child(names or {})) as child:
        while True:
            try:
                request, number = decode_request(receive_message(channel))
            except Disconnected:
                return
            if isinstance(request, Exit):
                return
            reply = child.reply_to(request)
            if os.getpid() != pid:
                # A fork that the user's code has made of this child came back from it: the line is not its own.
                os._exit(0)
            send_message(channel, encode_reply(reply, number))


def own_pid() -> str:
    """Return the pid in a fixed number of digits: a longer message would be another state of Python's memory."""
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
    # Elsewhere (macOS, the BSDs) the default is to ignore it; a handler of Python's then runs when user code lets it.
    signal.signal(signal.SIGIO, signal.SIG_DFL if sys.platform == "linux" else lambda *_: os._exit(1))
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    # It may have gone before we asked.
    hung_up = select.poll()
    hung_up.register(lifeline, select.POLLHUP)
    if hung_up.poll(0):
        os._exit(1)


class Child:
    """The loop under measurement and what can be asked of it. `names` are globals that every statement sees."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._run_block: RunBlock | None = None
        self._loop: PythonLoop | NativeLoop | None = None
        self._namespace: dict[str, Any] = {}
        self._python_frames: PythonFrames | None = None
        self._opened = contextlib.ExitStack()
        self._scattered: list[object] = []
        self._levels = 0

    def close(self) -> None:
        """Leave the blocks that are open: the variables of the set-up go."""
        self._run_block = None
        self._opened.close()

    def reply_to(self, request: Request[Any]) -> Reply:
        try:
            return call_deeper(self._levels, lambda: self._do(request)) if self._levels else self._do(request)
        except BaseException as error:  # whatever the user's code raises, SystemExit and its like too
            return Failed(**describe_exception(error))

    def _do(self, request: Request[Any]) -> Reply:
        needs_no_loop: dict[type, Callable[[Any], Reply]] = {
            Prepare: self._prepare,
            DescribeTorch: describe_torch,
            LookAround: look_around,
            MeasureDevice: measure_modes,
            ReportCompile: self._report_compile,
        }
        if type(request) in needs_no_loop:
            return needs_no_loop[type(request)](request)
        if self._run_block is None:
            raise RuntimeError(f"{request.verb!r} came before 'prepare'")
        runs_the_loop: dict[type, Callable[[RunBlock, Any], Reply]] = {
            Time: lambda run_block, asked: Timed(run_block(asked.number)),
            TimeBlocks: time_blocks,
            Count: self._count,
            Spin: spin,
            CountWork: count_work,
            Observe: lambda run_block, asked: observe(run_block, self._variable, asked),
            MeasureMemory: measure_memory,
        }
        return runs_the_loop[type(request)](self._run_block, request)

    def _report_compile(self, request: ReportCompile) -> Reply:
        import torch

        use_compile_cache(request.cache)
        torch.set_num_threads(request.num_threads)
        if request.device.startswith("cuda:"):
            torch.cuda.set_device(request.device)
        names = self._namespace = {"torch": torch, "__name__": "__main__", **self._names}

        def open_blocks(setup: str) -> contextlib.AbstractContextManager[RunBlock]:
            return PythonLoop(request.stmt, setup, perf_counter, names).open_blocks()

        return report_compile(request, open_blocks, lambda: names.get(COMPILE_SECONDS))

    def _prepare(self, request: Prepare) -> Prepared:
        self.close()
        if request.compile_cache:
            use_compile_cache(request.compile_cache)
        if request.folder:
            os.chdir(request.folder)
        sys.path[0:0] = request.path
        import torch

        torch.set_num_threads(request.num_threads)
        gc.disable()
        if request.layout_seed:
            self._scattered = scatter_memory(request.layout_seed, torch)
            self._levels = stack_levels(request.layout_seed)
            make_room_for(self._levels)
        self._python_frames = PythonFrames() if request.python_frames else None
        if request.device.startswith("cuda:"):
            torch.cuda.set_device(request.device)
        if request.by_graph:
            # The default stream, and what a set-up ties to it (gradients of leaves), cannot be captured.
            self._opened.enter_context(torch.cuda.stream(torch.cuda.Stream()))
        run_block = self._opened.enter_context(self._open_loop(request, torch))
        if request.layout_seed:
            self._scattered += move_end(request.layout_seed, torch)
        _leave_collector_alone()
        if BEFORE_BLOCK in self._names:
            run_block = after(self._names[BEFORE_BLOCK], run_block)
        if request.device_time:
            run_block = (GraphBlocks if request.by_graph else DeviceBlocks)(run_block, torch.cuda)
        self._run_block = run_block
        first_seconds = self._run_block(1) if request.warmup_runs else 0.0
        if request.warmup_runs > 1:
            self._run_block(request.warmup_runs - 1)
        # Not when instructions are counted: a reply of another length would be another memory layout.
        compile_seconds = None if request.counts else self._namespace.get(COMPILE_SECONDS)
        return Prepared(first_seconds, compile_seconds)

    def _open_loop(self, request: Prepare, torch: Any) -> contextlib.AbstractContextManager[RunBlock]:
        if request.library:
            wait = wait_for_accelerator if request.synchronize else None
            native = self._loop = NativeLoop(request.library, request.symbol, synchronize=wait)
            if request.counts:
                # Under Callgrind the toggles stand directly around the compiled loop.
                return native.open_blocks(before=hooks().toggle, after=hooks().toggle)
            return native.open_blocks()
        self._namespace = {"torch": torch, "__name__": "__main__", **self._names}
        exec(compile(request.globals_text, "<globals>", "exec"), self._namespace)
        clock = synchronized_clock if request.synchronize else perf_counter
        loop = self._loop = PythonLoop(request.stmt, request.setup, clock, self._namespace)
        return loop.open_blocks()

    def _variable(self, name: str) -> Any:
        if not isinstance(self._loop, PythonLoop):
            raise TypeError("only a Python statement has variables that can be read")
        return self._loop.variable(name)

    def _count(self, run_block: RunBlock, request: Count) -> Counted:
        """Count blocks. Nothing here depends on the clock: a reply of another length would be another layout."""
        frames = self._python_frames
        if frames is not None:
            frames.before_counting(run_block)
        dumps = count_blocks(
            run_block,
            request.number,
            warmup_runs=request.warmup_runs,
            toggles_itself=isinstance(self._loop, NativeLoop),
        )
        return Counted(dumps, "" if frames is None else frames.take_map())


def _leave_collector_alone() -> None:
    """Unless the set-up has switched it on, how many objects that made must not matter to those of the statement.

    Past the threshold each new one takes another path, even if the collector is off.
    """
    if not gc.isenabled():
        gc.set_threshold(HIGHEST_THRESHOLD)


def after(prepare: Callable[[int], object], run_block: RunBlock) -> RunBlock:
    """Return the block with something before it that is not timed."""

    def run(number: int) -> float:
        prepare(number)
        return run_block(number)

    return run


def time_blocks(run_block: RunBlock, request: TimeBlocks) -> TimedBlocks:
    seconds, preemptions = [], []
    wall, cpu = perf_counter(), thread_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    for _ in range(request.blocks):
        seconds.append(run_block(request.number))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        preemptions.append(after - before)
        before = after
    return TimedBlocks(seconds, preemptions, perf_counter() - wall, thread_time() - cpu)


def spin(run_block: RunBlock, request: Spin) -> Spun:
    runs, number, end = 0, 1, perf_counter() + request.seconds
    while perf_counter() < end:
        block_seconds = run_block(number)
        runs += number
        if block_seconds < 0.05:
            number *= 2
    return Spun(runs)


def describe_torch(request: DescribeTorch) -> TorchFacts:
    """How this torch was built. Asked in a child: some of it may touch the GPU, which the server must not."""
    import torch

    return TorchFacts(
        python=sys.version.split()[0],
        executable=sys.executable,
        torch=str(torch.__version__),
        torch_folder=os.path.dirname(torch.__file__),  # noqa: PTH120
        git_version=torch.version.git_version,
        debug=bool(torch.version.debug),
        cuda=torch.version.cuda,
        build=torch.__config__.show(),
        parallel=torch.__config__.parallel_info(),
        cxx11_abi=bool(torch.compiled_with_cxx11_abi()),
        num_threads=torch.get_num_threads(),
        devices=["cpu", *cuda_devices(torch)],
    )


def look_around(request: LookAround) -> Surroundings:
    import torch

    files = {name: str(getattr(module, "__file__", None)) for name, module in list(sys.modules.items())}
    return Surroundings(
        modules=sorted(n for n, file in files.items() if request.checkout and file.startswith(request.checkout)),
        num_threads=torch.get_num_threads(),
        flushes_denormals=bool(torch.tensor([DENORMAL]).mul(1.0).item() == 0.0),
    )


def cuda_devices(torch: Any) -> list[str]:
    """Return "cuda" and each device by its number."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return ["cuda", *(f"cuda:{index}" for index in range(count))] if count else []


def wait_for_accelerator() -> None:
    """Work on an accelerator is queued: the clock says nothing before the queue is empty."""
    import torch

    torch.cuda.synchronize()


def synchronized_clock() -> float:
    wait_for_accelerator()
    return perf_counter()
