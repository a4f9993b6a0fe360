"""Instructions of a cold compilation: what torch.compile executes for the first call of a function, and for each later.

In: a session and what is asked. Out: CompileCounts, of compiled variants on the CPU. Each repeat is a fresh fork of a
process that has imported the compiler and compiled something else (worker/compile_counts.py), with an empty cache of
its own. Programs that the compiler starts, such as g++, are not counted: they are processes of their own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from photometer.definition.timer_args import TimerArgs
from photometer.errors import MeasurementError
from photometer.instruments.callgrind.counter import FRAMED, child_to_count, read_dumps
from photometer.instruments.callgrind.figures import figures_of
from photometer.instruments.callgrind.parser import parse_text
from photometer.instruments.callgrind.python_frames import (
    FramedSide,
    is_python_frame,
    parse_frame_map,
    with_python_frames,
)
from photometer.instruments.declaration import Asked, Figure, Instrument, Option
from photometer.instruments.ready_order import ReadyOrder, is_compiled, kind_of, task_spec_of
from photometer.model.records import AtLeast, Positive
from photometer.model.task import TaskSpec
from photometer.plan.codegen_python import counted_first_call
from photometer.plan.work_order import WorkOrder
from photometer.session.child_process import ChildProcess
from photometer.session.layout import of_fixed_length
from photometer.session.session import Counting, Server, ServerKind, Session
from photometer.session.shared import process_session
from photometer.worker.messages import Count, Prepare

COMPILE_INSTRUCTIONS = "compile_instructions"
# Their scatter is part of the result; one takes some seconds.
REPEATS = 3
# A hundred settle the interpreter, and then every call executes the same.
WARMUP_CALLS = 100
CALLS = 10
# Two processes, and two builds, lie in memory differently. See docs/evidence-counts.md for what was seen.
LAYOUT_SHARE = 0.0005
# The same for one call, which has a few thousand instructions: some tens of them were seen to come and go.
FEW_INSTRUCTIONS = 100.0

Amount = Annotated[int, AtLeast(0)]

_serial = itertools.count()


@dataclasses.dataclass(frozen=True)
class CompileCounts:
    """Instructions outside the allocator: of each repeat's compilation, and of `calls` calls of the result.

    `eager` are those of as many runs without torch.compile, if the benchmark has such a variant.
    """

    KIND: ClassVar[str] = "compile_counts"

    task_spec: TaskSpec
    compilations: tuple[Amount, ...]
    compiled: tuple[Amount, ...]
    calls: Positive
    eager: Amount | None = None

    def __post_init__(self) -> None:
        if not self.compilations or not self.compiled:
            raise MeasurementError("a compilation that was counted has at least one count")

    @property
    def compilation(self) -> float:
        """Return the middle count: a different place in memory sometimes makes one larger."""
        return float(sorted(self.compilations)[len(self.compilations) // 2])

    @property
    def range(self) -> tuple[float, float]:
        return float(min(self.compilations)), float(max(self.compilations))

    @property
    def overhead_per_call(self) -> float | None:
        """Return the instructions of a call beyond the eager one.

        These are guards, prologue and wrappers, less what fusing saves.
        """
        if self.eager is None:
            return None
        return self.per_call - self.eager / self.calls

    @property
    def overhead_range(self) -> tuple[float, float]:
        eager = self.eager or 0
        return (min(self.compiled) - eager) / self.calls, (max(self.compiled) - eager) / self.calls

    @property
    def per_call(self) -> float:
        """Return the instructions of one call of the compiled code; the loop around it has some hundred."""
        return sorted(self.compiled)[len(self.compiled) // 2] / self.calls


def count_compilation(session: Session, asked: Asked) -> CompileCounts:
    """Compile in several fresh forks, and call the result; then run the eager variant."""
    order = asked.order
    compilations, compiled, eager = [], [], None
    with session.server(_server_kind(order, Counting()), asked.cores) as server:
        for _ in range(REPEATS):
            prepare = _preparation(asked.ready, counted_first_call(asked.ready.setup), server)
            with _compiling_child(server, prepare, order.timeout_seconds) as child:
                child.ask(Count(CALLS, WARMUP_CALLS), order.timeout_seconds)
                # 1 and 3 are of what came before.
                first, later = (_outside_allocator(text) for text in read_dumps(server, child.pid, [2, 4]))
            compilations.append(first)
            compiled.append(later)
        if order.eager_args is not None:
            eager = _count_eager(server, asked.ready, order.eager_args)
    return CompileCounts(task_spec_of(order), tuple(compilations), tuple(compiled), CALLS, eager)


def count_statement_compilation(order: WorkOrder, session: Session | None = None) -> CompileCounts:
    """Count for a statement (plan/compiled_statement.py), using this process's session by default."""
    return count_compilation(session or process_session(), Asked(ReadyOrder(order)))


def _count_eager(server: Server, ready: ReadyOrder, args: TimerArgs) -> int:
    limit = ready.order.timeout_seconds
    prepare = dataclasses.replace(ready.preparation(), stmt=args.stmt, setup=args.setup, counts=True)
    with child_to_count(server) as child:
        child.ask(prepare, limit)
        child.ask(Count(CALLS, WARMUP_CALLS), limit)
        (text,) = read_dumps(server, child.pid, [2])
    return _outside_allocator(text)


def stacks_of_compilation(session: Session, asked: Asked, figure: Figure) -> FramedSide:
    """Return the instructions of each Python function of the compiler itself, with the functions it calls.

    These are the instructions of its bytecode: parts of the interpreter that it calls, and other functions, are not in
    them.
    """
    order, ready = asked.order, asked.ready
    if figure.name != COMPILE_INSTRUCTIONS:
        return FramedSide((), 1)
    with session.server(_server_kind(order, FRAMED), asked.cores) as server:
        setup = counted_first_call(ready.setup, twice=True)
        prepare = dataclasses.replace(_preparation(ready, setup, server), python_frames=True)
        with _compiling_child(server, prepare, order.timeout_seconds) as child:
            frame_map = child.ask(Count(1, 1), order.timeout_seconds).frame_map
            (text,) = read_dumps(server, child.pid, [2])
    frames = parse_frame_map(frame_map)
    counts: Counter[str] = Counter()
    for cost in with_python_frames(parse_text(text, source=order.title), frames).self_costs:
        if is_python_frame(cost.function.name):
            counts[cost.function.name] += cost.costs[0]
    return FramedSide([((name,), count) for name, count in counts.items()], 1, frames.lines, frames.calls)


def _server_kind(order: WorkOrder, counting: Counting) -> ServerKind:
    return dataclasses.replace(kind_of(order), counting=counting, compiles=True)


def _preparation(ready: ReadyOrder, setup: str, server: Server) -> Prepare:
    cache = of_fixed_length(str(server.folder / f"compiled-{next(_serial):06}"))
    return dataclasses.replace(ready.preparation(), setup=setup, counts=True, counts_compile=True, compile_cache=cache)


@contextlib.contextmanager
def _compiling_child(server: Server, prepare: Prepare, timeout_seconds: float) -> Iterator[ChildProcess]:
    """Lend a child that has counted a compilation. Its cache is removed with it."""
    try:
        with child_to_count(server) as child:
            child.ask(prepare, timeout_seconds)
            yield child
    finally:
        shutil.rmtree(Path(prepare.compile_cache), ignore_errors=True)


def _outside_allocator(text: str) -> int:
    return figures_of(parse_text(text, source="a compilation")).outside_allocator


def _applies(order: WorkOrder, options: Mapping[str, bool]) -> bool:
    return is_compiled(order) and not order.auto.on_device


def _remark(counts: CompileCounts) -> str:
    low, high = counts.range
    scatter = (high - low) / counts.compilation if counts.compilation else 0.0
    return f"compilations differ by {100 * scatter:.2g} %" if scatter > LAYOUT_SHARE else ""


COMPILE_COUNTS = Instrument(
    name="compile_counts",
    doing="counting the compilation",
    record=CompileCounts,
    measure=count_compilation,
    figures=(
        Figure(
            COMPILE_INSTRUCTIONS,
            "instructions",
            of=lambda counts: counts.compilation,
            exact=True,
            head="instructions to compile",
            meaning="the first call, with an empty cache",
            interval=lambda counts: counts.range,
            tolerance=LAYOUT_SHARE,
            own_verdict=True,
        ),
        Figure(
            "call_overhead",
            "instructions",
            of=lambda counts: counts.overhead_per_call,
            exact=True,
            head="instructions of overhead per call",
            meaning="beyond those of the eager variant: guards, prologue, wrappers, less what fusing saves",
            interval=lambda counts: counts.overhead_range,
            tolerance=LAYOUT_SHARE,
            least=FEW_INSTRUCTIONS,
            own_verdict=True,
        ),
    ),
    option=Option("compile_counts", "Count the instructions of a cold compilation by torch.compile (needs Valgrind)."),
    applies=_applies,
    under_valgrind=True,
    first_guess_seconds=20.0,
    title="Compilation, in instructions",
    notes=("Of the compiler's Python and native code in its own process; g++ is not in it.",),
    remark=_remark,
    stacks=stacks_of_compilation,
)
