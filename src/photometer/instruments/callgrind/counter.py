"""InstructionCounter: tasks in, counted tasks out, each in a fresh fork of a session's server under Callgrind.

The cost of the empty loop is counted once per number of runs. A crash on an instruction that Valgrind does not know is
recognised, and the error suggests what to do. Several threads may count at the same time: each gets its own server.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from photometer.errors import CallgrindFileError, PhotometerError, WorkerCrashed, WorkerTimeout
from photometer.instruments.callgrind.count_task import (
    DEFAULT_NUMBER,
    CountedTask,
    CountTask,
    copy_globals,
    globals_text,
)
from photometer.instruments.callgrind.parser import parse_text
from photometer.instruments.callgrind.profile import CallgrindProfile
from photometer.instruments.callgrind.python_frames import (
    FRAME_OPTIONS,
    NO_FRAMES,
    frame_map_path,
    parse_frame_map,
    with_python_frames,
)
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.task import TaskSpec
from photometer.session.child_process import ChildProcess
from photometer.session.cores import usable_cores
from photometer.session.layout import Layout, of_fixed_length
from photometer.session.policy import available_bytes
from photometer.session.session import Counting, Server, ServerKind, Session
from photometer.session.shared import process_session
from photometer.session.valgrind import LOG
from photometer.worker.messages import Count, Prepare

_UNHANDLED = re.compile(r"unhandled instruction bytes: ((?:0x[0-9A-Fa-f]+ ?)+)")
_PLACE = re.compile(r"Unrecognised instruction at address .*\n==\d+==\s+at 0x[0-9A-Fa-f]+: (.+)")
_EVEX_PREFIX = 0x62
"""The first byte of every AVX-512 instruction, and of no other in 64-bit code."""


@dataclass(frozen=True)
class IllegalInstruction:
    """The bytes that Valgrind could not decode, and where in the program."""

    instruction_bytes: tuple[int, ...]
    place: str

    @property
    def is_avx512(self) -> bool:
        return self.instruction_bytes[:1] == (_EVEX_PREFIX,)

    @property
    def message(self) -> str:
        kind = "an AVX-512 instruction" if self.is_avx512 else "an instruction"
        shown = " ".join(f"{byte:02x}" for byte in self.instruction_bytes)
        where = f" in {self.place}" if self.place else ""
        return f"the statement executes {kind} that Valgrind does not know ({shown}){where}"

    @property
    def remedy(self) -> str:
        if not self.is_avx512:
            return "A newer Valgrind may know it. Timing this statement works; counting its instructions does not."
        return (
            "Valgrind has no AVX-512. ATen, oneDNN and MKL ask the processor and use AVX2 under Valgrind; code "
            "built for this machine does not. Build yours with -march=x86-64-v3 instead of -march=native; for "
            "torch.compile set ATEN_CPU_CAPABILITY=avx2 and TORCHINDUCTOR_CPP_MARCH=x86-64-v3 (torch 2.13 reads both)."
        )


def find_illegal_instruction(valgrind_log: str) -> IllegalInstruction | None:
    """Return the instruction that killed the process, if the log has one."""
    unhandled = _UNHANDLED.search(valgrind_log)
    if unhandled is None:
        return None
    place = _PLACE.search(valgrind_log)
    return IllegalInstruction(tuple(int(byte, 16) for byte in unhandled[1].split()), place[1] if place else "")


FEW_RUNS = 10
# Another server takes a third of a second to start; repeats that take longer than this run in several.
LONG_REPEAT_SECONDS = 1.0
Outcome = InstructionCounts | PhotometerError
OnOutcome = Callable[[int, Outcome], object]


# The servers of a counter in the frozen layout, without and with `python_frames`, for callers that start them ahead.
FRAMED = Counting(callgrind_options=FRAME_OPTIONS)
COUNTS = ServerKind(counting=Counting())
SHOWS_FRAMES = ServerKind(counting=FRAMED)


@dataclass(frozen=True)
class Repeat:
    """What a child has counted, and what it took."""

    dumps: list[str]
    frame_map: str
    seconds: float
    peak_bytes: int | None


def _at_once(first: Repeat) -> int:
    """Return how many more repeats may run at the same time, judged by the first: if they take long and fit memory."""
    free = available_bytes()
    if first.seconds < LONG_REPEAT_SECONDS or free is None or first.peak_bytes is None:
        return 1
    return max(min(len(usable_cores()), free // max(first.peak_bytes, 1)), 1)


def _peak_bytes(pid: int) -> int | None:
    """Return the most memory that a process has used, with what it shares; None if the system does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
    return 1024 * int(found[1]) if found else None


class InstructionCounter:
    """Counts in the environment of `session`, under one layout.

    With `python_frames` its servers can show Python functions in the call tree, if a count asks for them.
    """

    def __init__(
        self,
        session: Session,
        *,
        layout: Layout | None = None,
        counting: Counting = Counting(),  # noqa: B008 - frozen, so sharing it is safe
        python_frames: bool = False,
    ) -> None:
        if python_frames:
            counting = dataclasses.replace(counting, callgrind_options=(*counting.callgrind_options, *FRAME_OPTIONS))
        self._session = session
        self._python_frames = python_frames
        self._kind = ServerKind(layout or Layout(), counting=counting)
        self._lock = threading.Lock()
        self._loop_profiles: dict[int, CallgrindProfile] = {}

    def count(
        self, task: CountTask, *, keep_text: bool = False, cores: Sequence[int] = (), python_frames: bool = False
    ) -> CountedTask:
        """Count one task in fresh children. `keep_text` keeps Callgrind's output files as text.

        With `python_frames` the task's call stacks contain Python's functions; its counts are then slightly higher.
        """
        title = task.task_spec.title
        shows_frames = python_frames and self._python_frames and task.built is None
        kind = self.kind_for(task)

        def repeat(server: Server) -> Repeat:
            # A fresh fork per repeat: all start from the same state, so that they execute the same. Within one child,
            # CPython retries specialisation after certain numbers of runs, and lists and caches keep growing.
            began = time.monotonic()
            with child_to_count(server) as child:
                if task.built is None:
                    dumps, frame_map = self._count_python(child, server, task, shows_frames)
                else:
                    dumps, frame_map = self._count_compiled(child, server, task)
                return Repeat(dumps, frame_map, time.monotonic() - began, _peak_bytes(child.pid))

        with self._session.server(kind, cores) as server:
            loop = self._loop_profile(server, task.number) if task.built is None else None
            first = repeat(server)
            frozen, reasons = server.frozen, tuple(_reasons(server, task))

        def repeat_anywhere(_: int) -> Repeat:
            with self._session.server(kind, cores) as server:
                return repeat(server)

        threads = ThreadPoolExecutor(1 if cores else _at_once(first))
        try:
            counted = [first, *threads.map(repeat_anywhere, range(1, task.repeats))]
        finally:
            # After Ctrl-C the session's owner kills it, which ends the counts under way.
            threads.shutdown(wait=False, cancel_futures=True)
        # The last dump is the statement's; a compiled one has its empty loop before it.
        texts = [each.dumps[-1] for each in counted]
        loop = loop or parse_text(first.dumps[0], source=f"{title}, no runs")
        profiles = [parse_text(text, source=f"{title}, repeat {i + 1}") for i, text in enumerate(texts)]
        frame_maps = tuple(parse_frame_map(each.frame_map) for each in counted) if shows_frames else ()
        if self._python_frames and not shows_frames:
            # The options have split the interpreter's loop by its callers.
            profiles = [with_python_frames(profile, NO_FRAMES) for profile in profiles]
        return CountedTask(task, tuple(profiles), loop, tuple(texts) if keep_text else (), frozen, reasons, frame_maps)

    def kind_for(self, task: CountTask) -> ServerKind:
        """Return the kind of server that counts a task: one that has imported what its set-up imports."""
        if task.built is not None:
            return self._kind
        return self._kind.importing(Prepare(task.statement_text, task.task_spec.setup, preload=task.preload))

    def close(self) -> None:
        """End the counting servers: each uses some hundred megabytes. The session restarts them if needed."""
        self._session.drop(self._kind)

    def _count_python(
        self, child: ChildProcess, server: Server, task: CountTask, python_frames: bool = False
    ) -> tuple[list[str], str]:
        """Return the text of a Python statement's count, and the map of its frames."""
        prepare = Prepare(
            stmt=task.statement_text,
            setup=task.task_spec.setup,
            globals_text=globals_text(task.copied_globals, server.folder),
            num_threads=task.task_spec.num_threads,
            preload=task.preload,
            counts=True,
            seed=task.seed,
            python_frames=python_frames,
        )
        child.ask(prepare, task.timeout_seconds)
        counted = child.ask(Count(task.number, task.warmup_runs), task.timeout_seconds)
        return read_dumps(server, child.pid, [2]), counted.frame_map

    def _count_compiled(self, child: ChildProcess, server: Server, task: CountTask) -> tuple[list[str], str]:
        """Return a compiled statement's texts: first a block of no runs (only the clock is between the toggles)."""
        assert task.built is not None
        prepare = Prepare(
            library=of_fixed_length(str(task.built.library)),
            symbol=task.built.symbol,
            num_threads=task.task_spec.num_threads,
            counts=True,
            seed=task.seed,
        )
        child.ask(prepare, task.timeout_seconds)
        child.ask(Count(0, task.warmup_runs), task.timeout_seconds)
        child.ask(Count(task.number, task.warmup_runs), task.timeout_seconds)
        # 1 and 3 are the warm-ups'.
        return read_dumps(server, child.pid, [2, 4]), ""

    def _loop_profile(self, server: Server, number: int) -> CallgrindProfile:
        """Return the profile of `number` empty runs: the cost of the Python loop, the clock and the toggles."""
        with self._lock:
            if number not in self._loop_profiles:
                nothing = CountTask(TaskSpec("pass", "pass"), number=number)
                with child_to_count(server) as child:
                    texts, _ = self._count_python(child, server, nothing)
                self._loop_profiles[number] = parse_text(texts[0], source=f"{number} empty runs")
            return self._loop_profiles[number]


@contextlib.contextmanager
def child_to_count(server: Server) -> Iterator[ChildProcess]:
    """Lend a child under Callgrind, and remove its files afterwards."""
    log = server.dumps / LOG
    logged_bytes = log.stat().st_size if log.exists() else 0
    with server.child() as child:
        try:
            yield child
        except WorkerCrashed as crash:
            raise _explained(crash, log, logged_bytes) from None
        finally:
            # Killed, not asked to exit: Callgrind would write another, useless file.
            child.kill()
            _tidy(server, child.pid)


def _tidy(server: Server, pid: int) -> None:
    files = [server.dumps.glob(pattern) for pattern in (f"callgrind.{pid}", f"callgrind.{pid}.*")]
    for path in itertools.chain(server.folder.glob("global-*"), *files, [frame_map_path(pid)]):
        path.unlink(missing_ok=True)


def counter_of(
    session: Session,
    counting: Counting = Counting(),  # noqa: B008 - frozen, so sharing it is safe
    *,
    python_frames: bool = False,
) -> InstructionCounter:
    """Return the session's own counter of a kind, which remembers the cost of the empty loop."""
    new = InstructionCounter(session, counting=counting, python_frames=python_frames)
    return cast(InstructionCounter, session.remembered.setdefault((counting, python_frames), new))


def count_in_time(
    counter: InstructionCounter,
    task: CountTask,
    *,
    seconds_per_run: float | None = None,
    cores: Sequence[int] = (),
    python_frames: bool = False,
) -> CountedTask:
    """Count a task; if it is too slow for its number of runs under Valgrind, in fewer runs.

    `seconds_per_run` is without Valgrind; if it is not known, the task's time limit shows whether it is too slow.
    """
    *tasks, last = task.fitting(seconds_per_run)
    for each in tasks:
        with contextlib.suppress(WorkerTimeout):
            return counter.count(each, cores=cores, python_frames=python_frames)
    return counter.count(last, cores=cores, python_frames=python_frames)


def start_counter_ahead(session: Session, statements: Iterable[Prepare], timed_threads: int) -> None:
    """Start a counter's servers on one core, so that they import while the others time statements.

    If the timings need all cores, they would be disturbed: then start nothing.
    """
    counting, *others = usable_cores()
    if timed_threads <= len(others):
        session.start_ahead(dict.fromkeys(COUNTS.importing(each) for each in statements), [counting])


def count_many(
    tasks: Sequence[CountTask],
    counter: InstructionCounter | None = None,
    *,
    servers: int | None = None,
    on_outcome: OnOutcome | None = None,
) -> list[Outcome]:
    """Return the counts of every task, in the order of the tasks; a task that fails has its error there.

    By default this interpreter counts. `servers` is how many run at the same time, by default one per core: counting is
    exact even on a busy machine. `on_outcome(index, outcome)` is called for each outcome, in this thread.
    """
    if counter is None:
        with Session() as own:
            return count_many(tasks, InstructionCounter(own), servers=servers, on_outcome=on_outcome)
    outcomes: dict[int, Outcome] = {}
    threads = ThreadPoolExecutor(min(servers or len(usable_cores()), max(len(tasks), 1)))
    try:
        futures: dict[Future[CountedTask], int] = {
            threads.submit(counter.count, task): index for index, task in enumerate(tasks)
        }
        for future in as_completed(futures):
            index = futures[future]
            try:
                outcomes[index] = future.result().instruction_counts()
            except PhotometerError as error:
                outcomes[index] = error
            if on_outcome is not None:
                on_outcome(index, outcomes[index])
    finally:
        # After Ctrl-C the session's owner kills it, which ends the counts under way.
        threads.shutdown(wait=False, cancel_futures=True)
    return [outcomes[index] for index in range(len(tasks))]


def count_statement(
    task_spec: TaskSpec,
    *,
    stmt: str | None = None,
    globals: Mapping[str, Any] | None = None,
    built: BuiltSnippet | None = None,
    number: int = DEFAULT_NUMBER,
    repeats: int = 1,
    keep_text: bool = False,
    cache_simulation: bool = False,
    branch_simulation: bool = False,
    seed: int | None = None,
) -> CountedTask:
    """Count one statement in this process's own session, whose server is reused by later calls."""
    task = CountTask(task_spec, stmt, copy_globals(globals or {}), built, number, repeats, seed=seed)
    if number < FEW_RUNS:
        # Whoever asks for so few has a slow statement, such as a compilation: a hundred to warm up would take minutes.
        task = task.of_runs(number)
    counter = counter_of(process_session(), Counting(cache_simulation, branch_simulation))
    return counter.count(task, keep_text=keep_text)


def start_counting(task_spec: TaskSpec) -> bool:
    """Start the server that counts a statement in this process's session.

    Return whether it was warm, and so is ready.
    """
    kind = COUNTS.importing(Prepare(task_spec.stmt, task_spec.setup))
    process_session().start_ahead([kind])
    return process_session().is_warm(kind)


def read_dumps(server: Server, pid: int, numbers: Iterable[int]) -> list[str]:
    """Return the text of some of the files that Callgrind has written for a child, by their numbers."""
    try:
        return [(server.dumps / f"callgrind.{pid}.{number}").read_text() for number in numbers]
    except OSError as error:
        there = sorted(path.name for path in server.dumps.glob(f"callgrind.{pid}*"))
        raise CallgrindFileError(
            f"Callgrind wrote no readable output: {error}; files of this count: {', '.join(there) or 'none'}",
            log=server.output(),
            remedy=f"Free some space in {server.dumps.parent}, or set TMPDIR to another folder.",
        ) from error


def _reasons(server: Server, task: CountTask) -> Iterator[str]:
    """Yield remarks that a reader of the counts must know."""
    if not server.frozen:
        yield str(server.not_frozen_because)
    threads = task.task_spec.num_threads
    if threads > 1:
        yield f"num_threads is {threads}: only the calling thread's instructions are counted"


def _explained(crash: WorkerCrashed, log: Path, logged_bytes: int) -> WorkerCrashed:
    """Return the crash, with an explanation from what has come to Valgrind's log after its first bytes."""
    valgrind_log = log.read_bytes()[logged_bytes:].decode(errors="replace") if log.exists() else ""
    illegal = find_illegal_instruction(valgrind_log + (crash.log or ""))
    if illegal is None:
        return crash
    return WorkerCrashed(illegal.message, exit_status=crash.exit_status, log=crash.log, remedy=illegal.remedy)
