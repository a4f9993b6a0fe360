"""The requests of a child: what it does for each that it reads (child_life.py).

`Prepare` comes first and builds the loop; `Time`, `Count` and `Spin` then use it. An exception of the user's code
becomes a reply with its traceback, and the child lives on.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import sys
from collections.abc import Callable

# Taken before any code of the user's runs, which may put something else in their place.
from time import perf_counter, thread_time
from typing import Any, cast

from .accelerators import device_in_use, device_models, device_names, open_device, see_only
from .compile_counts import COUNT_COMPILE, CompileCount
from .compile_report import report_compile, use_compile_cache
from .device_blocks import DeviceBlocks, GraphBlocks
from .device_modes import measure_modes
from .figure_messages import CountWork, MeasureDevice, Observe
from .heap import fill_small_caches, keep_freed_memory, resident_pages, touched_pages
from .memory import measure_memory
from .messages import (
    Count,
    Counted,
    DescribeTorch,
    Failed,
    LookAround,
    LoopRequest,
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
)
from .native_loop import NativeLoop
from .preload import imports_of
from .python_frames import PythonFrames
from .python_loop import PythonLoop
from .rank_guests import HostRanks, Invitations, wait_for_guests
from .ranks import RankGroup, reply_of_group
from .scatter import call_deeper, make_room_for, move_end, scatter_memory, stack_levels
from .seeds import seed_everything
from .torch_here import find_torch, needed_torch, torch_or_missing
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


class Child:
    """The loop under measurement and the requests to it. `names` are globals that every statement sees."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._run_block: RunBlock | None = None
        self._loop: PythonLoop | NativeLoop | None = None
        self._namespace: dict[str, Any] = {}
        self._python_frames: PythonFrames | None = None
        self._opened = contextlib.ExitStack()
        self._scattered: list[object] = []
        self._levels = 0
        self._group: RankGroup | None = None
        self._sees_only = False

    def close(self) -> None:
        """Leave the open blocks, and end the ranks: the variables of the set-up are released."""
        self._run_block = None
        self._opened.close()
        if self._group is not None:
            self._group.end()
            self._group = None

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
            HostRanks: self._host_ranks,
        }
        if (numbers := getattr(request, "visible_devices", ())) and not self._sees_only:
            see_only(cast(Any, request).device.partition(":")[0], numbers, os.environ)
            self._sees_only = True
        if isinstance(request, Prepare) and request.ranks:
            return self._prepare_ranks(request)
        if type(request) in needs_no_loop:
            return needs_no_loop[type(request)](request)
        if self._group is not None:
            return reply_of_group(self._group, request)
        if self._run_block is None:
            raise RuntimeError(f"{request.verb!r} came before 'prepare'")
        if isinstance(request, LoopRequest):
            return cast(Reply, request.perform(self._run_block))
        runs_the_loop: dict[type, Callable[[RunBlock, Any], Reply]] = {
            Time: time_block,
            TimeBlocks: time_blocks,
            Count: self._count,
            Spin: spin,
            CountWork: count_work,
            Observe: lambda run_block, asked: observe(run_block, self._variable, asked),
            MeasureMemory: measure_memory,
        }
        return runs_the_loop[type(request)](self._run_block, request)

    def _report_compile(self, request: ReportCompile) -> Reply:
        torch = needed_torch("torch.compile")
        use_compile_cache(request.cache)
        torch.set_num_threads(request.num_threads)
        if ":" in request.device:
            open_device(torch, request.device)
        names = self._namespace = {"torch": torch, "__name__": "__main__", **self._names}
        seed_everything(request.seed, torch)

        def open_blocks(setup: str) -> contextlib.AbstractContextManager[RunBlock]:
            return PythonLoop(request.stmt, setup, perf_counter, names).open_blocks()

        return report_compile(request, open_blocks, lambda: names.get(COMPILE_SECONDS))

    def _prepare_ranks(self, request: Prepare) -> Reply:
        """Fork the ranks, before any of the user's code runs here, and have each prepare."""
        self.close()
        names = self._names
        guests = Invitations(request.guests_address, request.guests, request.guests_key) if request.guests else None
        self._group = RankGroup(
            request.ranks, lambda own: Child({**names, **own}), before_block=BEFORE_BLOCK, guests=guests
        )
        return reply_of_group(self._group, request)

    def _host_ranks(self, request: HostRanks) -> Reply:
        names = self._names
        return wait_for_guests(request, lambda own: Child({**names, **own}), before_block=BEFORE_BLOCK)

    def _prepare(self, request: Prepare) -> Prepared:
        self.close()
        if request.compile_cache:
            use_compile_cache(request.compile_cache)
        if request.folder:
            os.chdir(request.folder)
        sys.path[0:0] = request.path
        torch = find_torch()
        if torch is not None:
            torch.set_num_threads(request.num_threads)
        elif request.device or request.library:
            needed_torch("an accelerator" if request.device else "compiled C++")
        gc.disable()
        # Before any memory of the statement's is taken.
        keep_freed_memory()
        # Also before: what parsing the set-up frees is then moved, too.
        imports = () if request.library else imports_of(request.setup, request.stmt, request.preload)
        # Before memory is scattered, which draws from none of these generators: what seeding frees is then moved, too.
        seed_everything(request.seed, torch, devices=not request.counts)
        if request.layout_seed:
            self._scattered = scatter_memory(request.layout_seed, torch)
            self._levels = stack_levels(request.layout_seed)
            make_room_for(self._levels)
        self._python_frames = PythonFrames() if request.python_frames else None
        # Opened before the set-up only if its number must be chosen, or it is to measure.
        device = open_device(torch, request.device) if ":" in request.device or request.device_time else None
        if device is not None and request.by_graph:
            # The default stream, and what a set-up ties to it (gradients of leaves), cannot be captured.
            self._opened.enter_context(device.own_stream())
        if imports:
            run_imports(imports)
            # They may have drawn random numbers.
            seed_everything(request.seed, torch, devices=not request.counts)
        run_block = self._opened.enter_context(self._open_loop(request, torch))
        if request.layout_seed:
            self._scattered += move_end(request.layout_seed, torch)
        fill_small_caches()
        _leave_collector_alone()
        if BEFORE_BLOCK in self._names:
            run_block = after(self._names[BEFORE_BLOCK], run_block)
        if device is not None and request.device_time:
            run_block = (GraphBlocks if request.by_graph else DeviceBlocks)(run_block, device)
        self._run_block = run_block
        first_seconds = self._run_block(1) if request.warmup_runs else 0.0
        if request.warmup_runs > 1:
            self._run_block(request.warmup_runs - 1)
        # Not when instructions are counted: a reply of another length would be another memory layout.
        compile_seconds = None if request.counts else self._namespace.get(COMPILE_SECONDS)
        return Prepared(first_seconds, compile_seconds)

    def _open_loop(self, request: Prepare, torch: Any) -> contextlib.AbstractContextManager[RunBlock]:
        if request.library:
            wait = waiting_for(torch) if request.synchronize else None
            native = self._loop = NativeLoop(request.library, request.symbol, synchronize=wait)
            if request.counts:
                # Under Callgrind the toggles stand directly around the compiled loop.
                return native.open_blocks(before=hooks().toggle, after=hooks().toggle)
            return native.open_blocks()
        seen = torch_or_missing() if torch is None else torch
        self._namespace = {"torch": seen, "__name__": "__main__", **self._names}
        if request.counts_compile:
            self._namespace[COUNT_COMPILE] = CompileCount(self._python_frames, request.compile_cache)
        exec(compile(request.globals_text, "<globals>", "exec"), self._namespace)
        clock = synchronized_clock(torch) if request.synchronize else perf_counter
        loop = self._loop = PythonLoop(request.stmt, request.setup, clock, self._namespace)
        return loop.open_blocks()

    def _variable(self, name: str) -> Any:
        if not isinstance(self._loop, PythonLoop):
            raise TypeError("only a Python statement has variables that can be read")
        return self._loop.variable(name)

    def _count(self, run_block: RunBlock, request: Count) -> Counted:
        """Count blocks. Nothing here depends on the clock: a reply of another length would be another memory layout."""
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


def run_imports(statements: tuple[str, ...]) -> None:
    """Import what the set-up imports at its top level, if the zygote has not."""
    for statement in statements:
        try:
            exec(compile(statement, "<import>", "exec"), {"__name__": "__main__"})
        except Exception:
            # The set-up will fail at it, which shows the user's own line; a module of PRELOAD fails where it is used.
            return


def _leave_collector_alone() -> None:
    """Keep the number of objects that the set-up made from affecting the statement's.

    Past the collector's threshold each new object takes another path, even if the collector is off. A set-up that
    switches it on keeps it.
    """
    if not gc.isenabled():
        gc.set_threshold(HIGHEST_THRESHOLD)


def after(prepare: Callable[[int], object], run_block: RunBlock) -> RunBlock:
    """Return the block with something before it that is not timed."""

    def run(number: int) -> float:
        prepare(number)
        return run_block(number)

    return run


def time_block(run_block: RunBlock, request: Time) -> Timed:
    if not request.watches_pages:
        return Timed(run_block(request.number))
    kept, touched = resident_pages(), touched_pages()
    seconds = run_block(request.number)
    return Timed(seconds, touched_pages=touched_pages() - touched, kept_pages=resident_pages() - kept)


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
    """Return how this torch was built. Run it in a child: parts of it may use the GPU, which the server must not."""
    torch = find_torch()
    if torch is None:
        return TorchFacts(
            python=sys.version.split()[0],
            executable=sys.executable,
            torch="",
            torch_folder="",
            git_version=None,
            debug=False,
            cuda=None,
            build="",
            parallel="",
            cxx11_abi=False,
            num_threads=1,
            devices=["cpu"],
        )
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
        devices=["cpu", *device_names(torch)],
        device_models=device_models(torch),
    )


def look_around(request: LookAround) -> Surroundings:
    torch = find_torch()
    files = {name: str(getattr(module, "__file__", None)) for name, module in list(sys.modules.items())}
    return Surroundings(
        modules=sorted(n for n, file in files.items() if request.checkout and file.startswith(request.checkout)),
        num_threads=1 if torch is None else torch.get_num_threads(),
        flushes_denormals=torch is not None and bool(torch.tensor([DENORMAL]).mul(1.0).item() == 0.0),
    )


def waiting_for(torch: Any) -> Callable[[], None]:
    """Return a function that waits for the accelerator's queued work, if the process uses one by then."""
    device = device_in_use(torch)

    def wait() -> None:
        nonlocal device
        # A set-up, or the first run, may have opened it.
        device = device or device_in_use(torch)
        if device is not None:
            device.synchronize()

    return wait


def synchronized_clock(torch: Any) -> Callable[[], float]:
    """Return a clock that is read when the accelerator's queue is empty."""
    wait = waiting_for(torch)

    def clock() -> float:
        wait()
        return perf_counter()

    return clock
