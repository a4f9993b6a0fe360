"""CountingServer: a fork server under Callgrind. Tasks in, counted tasks out, each in a fresh fork of one process.

The cost of the empty loop is counted once for each number of runs. A child that dies of an instruction Valgrind does
not know is told apart from other crashes.
"""

from __future__ import annotations

import dataclasses
import platform
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from photometer.errors import WorkerCrashed
from photometer.instruments.callgrind.copied_global import globals_text
from photometer.instruments.callgrind.count_task import TIMEOUT_SECONDS, WARMUP_RUNS, CountedTask, CountTask
from photometer.instruments.callgrind.illegal_instruction import find_illegal_instruction
from photometer.instruments.callgrind.parser import parse_text
from photometer.instruments.callgrind.profile import CallgrindProfile
from photometer.instruments.callgrind.valgrind import find_valgrind
from photometer.instruments.fork_server import START_SECONDS, ChildProcess, ForkServer
from photometer.instruments.frozen_layout import Layout
from photometer.model.environment import Environment

AVX512_OFF = (
    # Code that asks /proc/cpuinfo sees the real processor, which Valgrind cannot imitate in full: it has no AVX-512.
    ("ATEN_CPU_CAPABILITY", "avx2"),
    ("TORCHINDUCTOR_CPP_MARCH", "x86-64-v3"),
    # A pool of compiling processes would be forked from under Valgrind.
    ("TORCHINDUCTOR_COMPILE_THREADS", "1"),
)


class CountingServer:
    """A started environment that counts. Use as a context manager, or call `close`. One task at a time."""

    def __init__(
        self,
        environment: Environment | None = None,
        *,
        layout: Layout | None = None,
        cache_simulation: bool = False,
        branch_simulation: bool = False,
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
        )
        self._server = ForkServer(
            dataclasses.replace(self.environment, variables=(*simd_variables(), *self.environment.variables)),
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
            loop: CallgrindProfile | None = None
            texts: list[str] = []
            reasons: list[str] = []
            if task.built is None:
                # Before the task, so that its own child is forked from the same server whether or not it was known.
                loop = self._loop_profile(task.number)
            if not self._server.frozen:
                reasons.append(str(self._server.not_frozen_because))
            if task.task_spec.num_threads > 1:
                reasons.append(
                    f"num_threads is {task.task_spec.num_threads}: only the calling thread's instructions are counted"
                )

            def talk(child: ChildProcess) -> None:
                nonlocal loop
                child.ask("prepare", task.timeout_seconds, **self._preparation(task))
                first = 2
                if task.built is not None:
                    # A compiled loop of no runs: the toggles and the clock, which is all that stands around it.
                    child.ask("count", task.timeout_seconds, number=0, repeats=1, warmup_runs=task.warmup_runs)
                    loop = parse_text(self._dump(child.pid, 2), source=f"{task.task_spec.title}, no runs")
                    first = 4
                child.ask(
                    "count",
                    task.timeout_seconds,
                    number=task.number,
                    repeats=task.repeats,
                    warmup_runs=task.warmup_runs,
                )
                texts.extend(self._dump(child.pid, first + i) for i in range(task.repeats))

            self._in_child(talk)
            assert loop is not None
            return CountedTask(
                task,
                tuple(
                    parse_text(text, source=f"{task.task_spec.title}, repeat {i + 1}") for i, text in enumerate(texts)
                ),
                loop,
                tuple(texts) if keep_text else (),
                self._server.frozen,
                tuple(reasons),
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

    def _preparation(self, task: CountTask) -> dict[str, Any]:
        fields: dict[str, Any] = {"num_threads": task.task_spec.num_threads, "toggles": True}
        if task.built is not None:
            return fields | {"language": "cpp", "library": str(task.built.library), "symbol": task.built.symbol}
        return fields | {
            "stmt": task.statement_text,
            "setup": task.task_spec.setup,
            "globals_text": globals_text(task.copied_globals, self._server.folder),
        }

    def _loop_profile(self, number: int) -> CallgrindProfile:
        """`number` runs of nothing: what the Python loop, the clock and the toggles cost by themselves."""
        if number not in self._loop_profiles:
            texts = []

            def talk(child: ChildProcess) -> None:
                child.ask("prepare", TIMEOUT_SECONDS, stmt="pass", setup="pass", toggles=True)
                child.ask("count", TIMEOUT_SECONDS, number=number, repeats=1, warmup_runs=WARMUP_RUNS)
                texts.append(self._dump(child.pid, 2))

            self._in_child(talk)
            self._loop_profiles[number] = parse_text(texts[0], source=f"{number} runs of nothing")
        return self._loop_profiles[number]

    def _in_child(self, talk: Callable[[ChildProcess], None]) -> None:
        with self._server.child() as child:
            try:
                talk(child)
            except WorkerCrashed as crash:
                raise _explained(crash, self._file(f"log.{child.pid}")) from None
            finally:
                child.leave()
                self._tidy(child.pid)

    def _dump(self, pid: int, number: int) -> str:
        return self._file(f"callgrind.{pid}.{number}").read_text()

    def _file(self, name: str) -> Path:
        return self._server.folder / name

    def _tidy(self, pid: int) -> None:
        for pattern in (f"callgrind.{pid}", f"callgrind.{pid}.*", f"log.{pid}", "global-*"):
            for path in self._server.folder.glob(pattern):
                path.unlink()


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
