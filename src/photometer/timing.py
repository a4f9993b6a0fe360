"""Timer: times one statement and returns a Measurement; torch.utils.benchmark.Timer's successor.

Code written for torch's Timer runs unchanged: same arguments, same methods, `_timer_cls` included. Besides, it takes a
callable in place of text, detects the end of the warm-up, stops by precision, and warns of doubtful measurements.
"""

from __future__ import annotations

import dataclasses
import sys
import timeit as timeit_module
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, overload

from photometer.errors import CountError, DefinitionError, SnippetError
from photometer.instruments.clock import choose_clock, timer
from photometer.instruments.stopping import Precise, RunFor, SpreadBelow, StoppingRule
from photometer.instruments.wall_time import Beforehand, BlindWatch, CoreWatch, take_blocks, warm_up
from photometer.model.copy_if_callgrind import CopyIfCallgrind
from photometer.model.diagnosis import ONE_BLOCK_ASKED_FOR
from photometer.model.measurement import Measurement
from photometer.model.task import Language, TaskSpec
from photometer.plan.work_order import checked_seed
from photometer.statement_arguments import (
    bind_call,
    check_texts,
    checked_names,
    compile_python,
    tidy,
    whole_number,
)
from photometer.worker.python_loop import PythonLoop
from photometer.worker.threads import set_torch_threads
from photometer.worker.torch_here import torch_or_missing
from photometer.worker.user_error import hiding_our_frames, name_the_line

if TYPE_CHECKING:
    from photometer.instruments.callgrind.count_task import CountedTask
    from photometer.instruments.device.options import SourceChoice
    from photometer.model.device_measurement import DeviceMeasurement
    from photometer.model.instruction_counts import CallgrindStats, InstructionCounts
    from photometer.model.memory_measurement import MemoryMeasurement
    from photometer.model.run_figures import ProcessorCounts, RankTimes

# Precision is asked for by those who are willing to wait; this is the longest they wait unless they say otherwise.
DEFAULT_MAX_RUN_TIME = 10.0
# adaptive_autorange judges small spreads, so its blocks are chosen as for a run of this length (torch's figure).
ADAPTIVE_BLOCK_BASIS = 0.05


class TimerClass(Protocol):
    """The interface of `_timer_cls`: timeit.Timer's constructor and its one method."""

    def __init__(
        self, stmt: str, setup: str, timer: Callable[[], float], globals: dict[str, Any], **kwargs: Any
    ) -> None: ...

    def timeit(self, number: int) -> float: ...


class Timer:
    """Measure one statement.

    Args:
        stmt: The code to time: text, or a callable, whose arguments are `args` and `kwargs`.
        setup: Code that runs before each block of runs, untimed. The statement sees its variables.
        global_setup: C++ only: the top of the file, such as `#include` lines.
        timer: The clock. The default waits for the accelerator if this process uses one.
        globals: Names that the statement may use. `torch` is always among them.
        label: Title of the `Compare` table that the result is in.
        sub_label: Row of that table (default: the statement).
        description: Column of that table.
        env: Name of the environment, if results of several are compared.
        num_threads: Size of torch's thread pool while measuring (default: 1).
        language: `Language.PYTHON` (or "python") or `Language.CPP` (or "cpp", "c++").
        args: Positional arguments of a callable `stmt`.
        kwargs: Keyword arguments of a callable `stmt`.
        seed: Seed of random numbers in other processes, in which C++ runs and instructions are counted (default: a
            fixed one). This process is not seeded.

    """

    _timer_cls: ClassVar[type[Any]] = PythonLoop

    @hiding_our_frames
    def __init__(
        self,
        stmt: str | Callable[..., Any] = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
        *,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        self._language = Language.parse(language)
        self._globals = checked_names(globals)
        self._seed = checked_seed(seed)
        self._asked_clock = self._clock = timer
        num_threads = whole_number("num_threads", num_threads)
        if not callable(timer):
            raise DefinitionError(f"timer must be a function that returns seconds, not {type(timer).__name__}")
        if callable(stmt):
            if self._language is not Language.PYTHON:
                raise DefinitionError("a callable stmt is Python", remedy="Give the C++ statement as text.")
            shown, stmt_text, bound = bind_call(stmt, args, dict(kwargs or {}))
            self._globals.update(bound)
        elif isinstance(stmt, str):
            if args or kwargs:
                raise DefinitionError(
                    "args and kwargs go with a callable stmt", remedy="Pass the function itself, not text."
                )
            shown = stmt_text = tidy(stmt)
        else:
            raise DefinitionError(f"stmt must be text or a callable, not {type(stmt).__name__}")
        setup_text = tidy(setup, "setup")
        check_texts(global_setup=global_setup, label=label, sub_label=sub_label, description=description, env=env)
        if self._language is Language.PYTHON and global_setup:
            raise DefinitionError(
                f"global_setup is for C++ only; it holds {global_setup!r}", remedy="Move it into `setup`."
            )
        if self._language is Language.CPP and setup_text == "pass":
            setup_text = ""
        self._task_spec = TaskSpec(shown, setup_text, global_setup, label, sub_label, description, env, num_threads)
        self._stmt_text = stmt_text
        self._loop: Any = None
        if self._language is Language.PYTHON and self._timer_cls is PythonLoop and "torch" not in sys.modules:
            # Importing torch takes more than a second, and a count in a warm server less: it is done when it is needed.
            compile_python(stmt_text, setup_text)
        else:
            self._loop = self._make_loop(timer)

    @property
    def _timer(self) -> Any:
        """Return the loop that runs the statement; torch's Timer has it under this name, too."""
        if self._loop is None:
            self._loop = self._make_loop(self._clock)
        return self._loop

    def _make_loop(self, clock: Callable[[], float]) -> Any:
        if self._language is Language.CPP:
            return self._make_cpp_loop()
        return self._timer_cls(
            stmt=self._stmt_text, setup=self._task_spec.setup, timer=clock, globals=self._unwrapped_globals()
        )

    def _make_cpp_loop(self) -> Any:
        if self._globals:
            raise DefinitionError(
                f"a C++ statement cannot use the Python globals {sorted(self._globals)}",
                remedy="Make what it needs in `setup`.",
            )
        from photometer.instruments.cpp.remote_loop import RemoteLoop

        spec = self._task_spec
        return RemoteLoop(spec.stmt, spec.setup, spec.global_setup, num_threads=spec.num_threads, seed=self._seed)

    def _unwrapped_globals(self) -> dict[str, Any]:
        self._globals.setdefault("torch", torch_or_missing())
        return CopyIfCallgrind.unwrap_all(self._globals)

    @property
    def task_spec(self) -> TaskSpec:
        """Return the identity of the measurement."""
        return self._task_spec

    @property
    def seed(self) -> int | None:
        """Return the given seed."""
        return self._seed

    @hiding_our_frames
    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Run the statement `number` times in one block, after a warm-up, and return how long that took."""
        number = whole_number("number", number)
        with set_torch_threads(self._task_spec.num_threads):
            # At most a hundredth of the work asked for, as torch has it; less where a run is steady before.
            warm = warm_up(self._timeit, budget_seconds=1.0, most_runs=max(number // 100, 2))
            self._settle_clock()
            watch = self._make_watch()
            seconds = self._timeit(number)
            conditions = watch.conditions()
        conditions = dataclasses.replace(
            conditions, warmup_runs=warm.runs, warmed_up=warm.settled, stopped_because=ONE_BLOCK_ASKED_FOR
        )
        return Measurement(number, [seconds], self._task_spec, conditions=conditions)

    @hiding_our_frames
    def blocked_autorange(
        self,
        callback: Callable[[int, float], Any] | None = None,
        min_run_time: float = 0.2,
        *,
        precision: float | None = None,
        max_run_time: float = DEFAULT_MAX_RUN_TIME,
    ) -> Measurement:
        """Time blocks of a suitable number of runs until `min_run_time` seconds are measured.

        With `precision`, go on until the 95 % interval of the median is within ± that share of it (0.01 is one
        per cent), for at most `max_run_time` seconds. `callback(number, seconds)` is called after each block.
        """
        rule: StoppingRule = RunFor(min_run_time)
        if precision is not None:
            rule = Precise(precision, min_run_time, max_run_time)
        return self.measure(rule, min_run_time=min_run_time, callback=callback)

    @hiding_our_frames
    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Time blocks until the interquartile range is below `threshold` of the median, or time is up."""
        rule = SpreadBelow(threshold, min_run_time, max_run_time)
        return self.measure(rule, min_run_time=ADAPTIVE_BLOCK_BASIS, callback=callback)

    @hiding_our_frames
    def measure(
        self,
        rule: StoppingRule,
        *,
        min_run_time: float = 0.2,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Time blocks until `rule` says stop. `min_run_time` determines the size of a block."""
        with set_torch_threads(self._task_spec.num_threads):
            first_seconds = self._timeit(1)
            clock = self._settle_clock()
            taken = take_blocks(
                self._timeit,
                rule,
                clock=clock,
                min_run_time=min_run_time,
                callback=callback,
                watch=self._make_watch(),
                known=Beforehand(first_seconds),
            )
        return Measurement(taken.number_per_run, taken.block_seconds, self._task_spec, conditions=taken.conditions)

    @overload
    def collect_callgrind(
        self, number: int = ..., *, repeats: None = ..., collect_baseline: bool = ..., retain_out_file: bool = ...
    ) -> CallgrindStats: ...

    @overload
    def collect_callgrind(
        self, number: int = ..., *, repeats: int, collect_baseline: bool = ..., retain_out_file: bool = ...
    ) -> tuple[CallgrindStats, ...]: ...

    def collect_callgrind(
        self,
        number: int = 100,
        *,
        repeats: int | None = None,
        collect_baseline: bool = True,
        retain_out_file: bool = False,
    ) -> CallgrindStats | tuple[CallgrindStats, ...]:
        """Count the instructions of `number` runs, in a process under Valgrind that later calls use again.

        With `repeats`, that many counts of the same process, as a tuple. Globals must be marked by CopyIfCallgrind.
        """
        try:
            counted = self._count(number, 1 if repeats is None else repeats, keep_text=retain_out_file)
        except SnippetError as error:
            raise CountError.like(error) from error
        stats = counted.callgrind_stats(collect_baseline=collect_baseline)
        return stats[0] if repeats is None else stats

    def count_instructions(
        self, number: int = 100, *, repeats: int = 3, cache_simulation: bool = False, branch_simulation: bool = False
    ) -> InstructionCounts:
        """Return three figures per run, less the loop's own cost, with the reason for a repeat that differs."""
        counted = self._count(number, repeats, cache_simulation=cache_simulation, branch_simulation=branch_simulation)
        return counted.instruction_counts()

    def _count(self, number: int = 100, repeats: int = 3, **options: bool) -> CountedTask:
        """Return what both are made from: the profiles of the repeats. Options are those of `count_statement`."""
        from photometer.instruments.callgrind.counter import count_statement, start_counting

        built = self._timer.build() if self._language is Language.CPP else None
        if not start_counting(self._task_spec) or self._loop is not None:
            # A statement that fails does so here, in a moment, and not when the server under Valgrind is ready.
            self._timeit(1)
        return count_statement(
            self._task_spec,
            stmt=self._stmt_text,
            globals=self._globals,
            built=built,
            number=number,
            repeats=repeats,
            seed=self._seed,
            **options,
        )

    def count_by_processor(self, number: int = 1000, *, repeats: int = 5) -> ProcessorCounts:
        """Count by the processor's own counter, at full speed, in this process, if the kernel allows it."""
        from photometer.instruments.processor_instructions import count_by_processor

        with set_torch_threads(self._task_spec.num_threads):
            return count_by_processor(self._timer, self._task_spec, number, repeats)

    def measure_memory(self, *, repeats: int = 3) -> MemoryMeasurement:
        """Return the memory of one run: its peak, all bytes, the number of blocks. Exact on CPU and accelerator."""
        from photometer.instruments.memory import memory_here, memory_of_built

        spec, repeats = self._task_spec, whole_number("repeats", repeats)
        if self._language is Language.CPP:
            return memory_of_built(self._timer.build(), spec, repeats=repeats, seed=self._seed)
        return memory_here(self._stmt_text, spec.setup, self._unwrapped_globals(), spec, repeats=repeats)

    def measure_ranks(self, ranks: int, *, min_run_time: float = 0.2) -> RankTimes:
        """Run the statement in a group of processes, joined by torch.distributed, and return the time of each.

        The statement and its set-up are text; they see `rank` and `world_size`.
        """
        from photometer.instruments.ranks import ranks_of_text

        if self._language is not Language.PYTHON or self._globals.keys() - {"torch"}:
            raise DefinitionError(
                "a group of ranks runs Python given as text: another process does not have the objects of this one",
                remedy="Give the statement as text with its set-up.",
            )
        return ranks_of_text(self._task_spec, whole_number("ranks", ranks), min_run_time, seed=self._seed)

    def measure_device(
        self,
        device: str | None = None,
        *,
        min_run_time: float = 0.2,
        precision: float | None = None,
        max_run_time: float = 10.0,
        source: SourceChoice = "auto",
        bytes_per_run: float | None = None,
        flops_per_run: float | None = None,
        flops_dtype: str = "bfloat16",
    ) -> DeviceMeasurement:
        """Measure the statement on an accelerator: a table of modes, and what bounds it.

        Each mode is measured for `min_run_time` seconds, or until `precision` is reached, for at most `max_run_time`.
        `source` "auto" reads device times from events or the profiler by the length of the kernels. With
        `bytes_per_run` and `flops_per_run` the result has rates and shares of this card's peaks (of `flops_dtype`).
        """
        from photometer.instruments.device.measure import measure_text
        from photometer.instruments.device.options import DeviceOptions

        asked = DeviceOptions(min_run_time, precision, max_run_time, source, bytes_per_run, flops_per_run, flops_dtype)
        spec, names = self._task_spec, self._unwrapped_globals()
        if self._language is Language.CPP:
            from photometer.instruments.device.in_child import modes_of_built

            return modes_of_built(self._timer.build(), spec, device, asked, seed=self._seed)
        with set_torch_threads(spec.num_threads):
            return measure_text(self._stmt_text, spec.setup, names, spec, device, asked)

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Refuse: a Timer takes blocks of runs by itself."""
        raise NotImplementedError("a Timer takes blocks of runs by itself: use Timer.blocked_autorange")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> NoReturn:
        """Refuse: a Timer chooses the number of runs by itself."""
        raise NotImplementedError("a Timer chooses the number of runs by itself: use Timer.blocked_autorange")

    def _timeit(self, number: int) -> float:
        """Seconds for one block. The name is torch's: subclasses written for torch override it."""
        try:
            return max(float(self._timer.timeit(number)), 1e-9)
        except Exception as error:
            name_the_line(error, getattr(self._timer, "source_name", ""))
            raise

    def _make_watch(self) -> CoreWatch:
        return CoreWatch() if self._language is Language.PYTHON else BlindWatch()

    def _settle_clock(self) -> Callable[[], float]:
        """After the first run it is known whether the statement can reach an accelerator: keep the cheaper clock."""
        clock = choose_clock(self._asked_clock)
        if clock is not self._clock and isinstance(self._timer, PythonLoop | timeit_module.Timer):
            self._clock = clock
            self._loop = self._make_loop(clock)
        return clock


def counted_task(timer: Timer, number: int, repeats: int) -> CountedTask:
    """Return one count of a Timer's statement, from which its counts and its functions can be made."""
    return timer._count(number, repeats)


def build_together(timers: Iterable[Timer]) -> None:
    """Compile the C++ statements of all timers in one go: each then finds itself in the cache, or its own error."""
    from photometer.instruments.cpp.build import build_snippets

    build_snippets([timer._timer.snippet for timer in timers])
