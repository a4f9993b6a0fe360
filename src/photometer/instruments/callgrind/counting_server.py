"""CountingServer: a fork server under Callgrind. Tasks in, counted tasks out, each in a fresh fork of one process.

The cost of the empty loop is counted once for each number of runs. A child that dies of an instruction Valgrind does
not know is told apart from other crashes.
"""

from __future__ import annotations

import dataclasses
import platform
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType

from photometer.errors import CallgrindFileError, WorkerCrashed
from photometer.instruments.callgrind.copied_global import globals_text
from photometer.instruments.callgrind.count_task import CountedTask, CountTask
from photometer.instruments.callgrind.illegal_instruction import find_illegal_instruction
from photometer.instruments.callgrind.parser import parse_text
from photometer.instruments.callgrind.profile import CallgrindProfile
from photometer.instruments.callgrind.python_frames import (
    FRAME_OPTIONS,
    frame_map_path,
    parse_frame_map,
    with_python_frames,
)
from photometer.model.environment import Environment
from photometer.model.task import TaskSpec
from photometer.session.fork_server import START_SECONDS, ChildProcess, ForkServer
from photometer.session.layout import Layout
from photometer.session.valgrind import find_valgrind

AVX512_OFF = (
    # Code that asks /proc/cpuinfo sees the real processor, which Valgrind cannot imitate in full: it has no AVX-512.
    ("ATEN_CPU_CAPABILITY", "avx2"),
    ("TORCHINDUCTOR_CPP_MARCH", "x86-64-v3"),
    # A pool of compiling processes would be forked from under Valgrind.
    ("TORCHINDUCTOR_COMPILE_THREADS", "1"),
)

PASSIVE_WAITING = (
    # Valgrind runs one thread at a time: a pool of threads that spins while it waits takes ten times as long, and the
    # rounds it spins are counted.
    ("OMP_WAIT_POLICY", "passive"),
)


class CountingServer:
    """A started environment that counts. Use as a context manager, or call `close`. One task at a time.

    With `python_frames` profiles name Python functions, as far as the interpreter can; counts are then a little higher.
    """

    def __init__(
        self,
        environment: Environment | None = None,
        *,
        layout: Layout | None = None,
        cache_simulation: bool = False,
        branch_simulation: bool = False,
        python_frames: bool = False,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.environment = environment or Environment.current()
        self._lock = threading.Lock()
        self._loop_profiles: dict[int, CallgrindProfile] = {}
        wrapper = find_valgrind().callgrind_command(
            [],
            out_file="{folder}/callgrind.%p",
            log_file="{folder}/log.%p",
            cache_simulation=cache_simulation,
            branch_simulation=branch_simulation,
            more=FRAME_OPTIONS if python_frames else (),
        )
        self._python_frames = python_frames
        self._frame_map = ""
        self._server = ForkServer(
            dataclasses.replace(
                self.environment, variables=(*simd_variables(), *PASSIVE_WAITING, *self.environment.variables)
            ),
            layout=layout,
            wrapper=wrapper,
            translate=True,
            start_seconds=start_seconds,
        )
        self.greeting = self._server.greeting

    @property
    def frozen_layout(self) -> bool:
        return self._server.frozen

    @property
    def alive(self) -> bool:
        return self._server.alive

    def count(self, task: CountTask, *, keep_text: bool = False) -> CountedTask:
        """Count one task in a child of its own. `keep_text` keeps Callgrind's output files as text."""
        with self._lock:
            if task.built is None:
                loop, texts = self._loop_profile(task.number), self._in_child(lambda child: self._talk(child, task))
            else:
                loop_text, *texts = self._in_child(lambda child: self._talk_natively(child, task))
                loop = parse_text(loop_text, source=f"{task.task_spec.title}, no runs")
        title = task.task_spec.title
        profiles = [parse_text(text, source=f"{title}, repeat {i + 1}") for i, text in enumerate(texts)]
        if self._python_frames:
            profiles = [with_python_frames(profile, parse_frame_map(self._frame_map)) for profile in profiles]
        return CountedTask(
            task,
            tuple(profiles),
            loop,
            tuple(texts) if keep_text else (),
            self._server.frozen,
            tuple(self._reasons(task)),
        )

    def close(self) -> None:
        self._server.close()

    def kill(self) -> None:
        """End it at once, from any thread; a count that is under way gets WorkerCrashed."""
        self._server.kill()

    def __enter__(self) -> CountingServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reasons(self, task: CountTask) -> Iterator[str]:
        """What the reader of the counts must be told."""
        if not self._server.frozen:
            yield str(self._server.not_frozen_because)
        threads = task.task_spec.num_threads
        if threads > 1:
            yield f"num_threads is {threads}: only the calling thread's instructions are counted"

    def _talk(self, child: ChildProcess, task: CountTask) -> list[str]:
        """A Python statement: the texts of its repeats."""
        child.ask(
            "prepare",
            task.timeout_seconds,
            stmt=task.statement_text,
            setup=task.task_spec.setup,
            globals_text=globals_text(task.copied_globals, self._server.folder),
            num_threads=task.task_spec.num_threads,
            toggles=True,
            # Only where asked for: an answer or a request of another length is another layout.
            **({"python_frames": True} if self._python_frames else {}),
        )
        self._ask_count(child, task, task.number, task.repeats)
        return self._dumps(child.pid, range(2, 2 + task.repeats))

    def _talk_natively(self, child: ChildProcess, task: CountTask) -> list[str]:
        """A compiled statement: first a block of no runs (the clock is all that stands between the toggles)."""
        assert task.built is not None
        child.ask(
            "prepare",
            task.timeout_seconds,
            language="cpp",
            library=str(task.built.library),
            symbol=task.built.symbol,
            num_threads=task.task_spec.num_threads,
            toggles=True,
        )
        self._ask_count(child, task, 0, 1)
        self._ask_count(child, task, task.number, task.repeats)
        # 1 and 3 are the warm-ups'.
        return self._dumps(child.pid, [2, *range(4, 4 + task.repeats)])

    def _ask_count(self, child: ChildProcess, task: CountTask, number: int, repeats: int) -> None:
        answer = child.ask("count", task.timeout_seconds, number=number, repeats=repeats, warmup_runs=task.warmup_runs)
        self._frame_map = answer.get("frame_map", "")

    def _loop_profile(self, number: int) -> CallgrindProfile:
        """`number` runs of nothing: what the Python loop, the clock and the toggles cost by themselves."""
        if number not in self._loop_profiles:
            nothing = CountTask(TaskSpec("pass", "pass"), number=number)
            (text,) = self._in_child(lambda child: self._talk(child, nothing))
            self._loop_profiles[number] = parse_text(text, source=f"{number} runs of nothing")
        return self._loop_profiles[number]

    def _in_child(self, talk: Callable[[ChildProcess], list[str]]) -> list[str]:
        with self._server.child() as child:
            try:
                return talk(child)
            except WorkerCrashed as crash:
                raise _explained(crash, self._server.folder / f"log.{child.pid}") from None
            finally:
                # Not asked to leave: Callgrind would write one file more, of everything and nothing.
                child.kill()
                self._tidy(child.pid)

    def _dumps(self, pid: int, numbers: Iterable[int]) -> list[str]:
        try:
            return [(self._server.folder / f"callgrind.{pid}.{number}").read_text() for number in numbers]
        except OSError as error:
            raise CallgrindFileError(
                f"Callgrind wrote no readable output: {error}",
                log=self._server.output(),
                remedy=f"Is there room in {self._server.folder.parent}? TMPDIR names another folder.",
            ) from error

    def _tidy(self, pid: int) -> None:
        for pattern in (f"callgrind.{pid}", f"callgrind.{pid}.*", f"log.{pid}", "global-*"):
            for path in self._server.folder.glob(pattern):
                path.unlink()
        if self._python_frames:
            frame_map_path(pid).unlink(missing_ok=True)


def simd_variables() -> tuple[tuple[str, str], ...]:
    """What keeps code generated for this very processor within what Valgrind knows."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ()
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    # Without AVX2 there is nothing to hold back; with it, but without AVX-512, asking for AVX2 changes nothing.
    return AVX512_OFF if " avx2 " in flags else ()


def _explained(crash: WorkerCrashed, log: Path) -> WorkerCrashed:
    """The crash with what Valgrind wrote about it."""
    valgrind_log = log.read_text(errors="replace") if log.exists() else ""
    illegal = find_illegal_instruction(valgrind_log + (crash.log or ""))
    if illegal is None:
        return crash
    return WorkerCrashed(illegal.message, exit_status=crash.exit_status, log=crash.log, remedy=illegal.remedy)
