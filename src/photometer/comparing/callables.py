"""Statements that need objects of this process: callables, and text with globals.

In: contenders. Out: a source of replicates, and a description of how it takes them. Normally each replicate uses fresh
forks of this process: they have its objects, and differences between processes are sampled. What does not survive a
fork (CUDA, a thread pool) is measured alternately in this one process, and the result says so.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

from photometer.comparing.contenders import Contender
from photometer.comparing.fork_sampler import ForkSampler
from photometer.comparing.rank import ReplicateSource
from photometer.errors import SnippetError, WorkerError, WorkerTimeout
from photometer.instruments.clock import choose_clock, timer
from photometer.instruments.contest import Contestants
from photometer.instruments.replicate import Replicate, Side, alternate
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.session.cores import on_cores, quietest_core
from photometer.session.forks_here import ForksHere, can_fork, fork_here
from photometer.worker.fork_hazards import accelerator_was_started as accelerator_was_started, has_native_threads
from photometer.worker.messages import Prepare, Time
from photometer.worker.python_loop import PythonLoop
from photometer.worker.threads import set_torch_threads
from photometer.worker.torch_here import torch_or_missing
from photometer.worker.user_error import describe_exception

# Parallel work for every thread of a pool; a fork that inherited its parent's pool never finishes it.
PARALLEL_WORK = "torch.ones(1 << 20).add_(1).sum()"
# A healthy fork takes 20 ms.
PARALLEL_SECONDS = 3.0
# A first run this long, and this many times longer than the second, compiles or loads something: do it once here.
LAZY_SECONDS = 0.3
LAZY_FACTOR = 10.0
# A statement for a fork of this process, which has the function as well; raises if it has started an accelerator.
NO_ACCELERATOR = (
    f"from {accelerator_was_started.__module__} import accelerator_was_started; assert not accelerator_was_started()"
)


@dataclasses.dataclass(frozen=True)
class CallableSource:
    """Where replicates come from; `is_forked` says whether each one uses fresh processes."""

    source: ReplicateSource
    measured_by: str
    is_forked: bool


def open_source(
    contenders: Sequence[Contender],
    *,
    num_threads: int,
    seconds: float,
    seed: int | None = None,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> CallableSource:
    """Try every contender once, and return the best way to measure them that this process allows."""
    reason = why_not_forked(num_threads) or _rehearse(contenders, num_threads, seed, timeout_seconds)
    if reason is not None:
        in_turn = InTurn(contenders, num_threads=num_threads, seconds=seconds, seed=seed)
        return CallableSource(in_turn, f"wall time, in turn in this one process: {reason}", False)
    sides = tuple(
        Side(ForksHere(each.names), Prepare(each.stmt, each.setup, num_threads=num_threads, seed=seed))
        for each in contenders
    )
    sampler = ForkSampler([Contestants(sides, timeout_seconds)], seconds=seconds, seed=seed)
    return CallableSource(sampler, "wall time, in forks of this process", True)


def why_not_forked(num_threads: int) -> str | None:
    """Return why forks of this process cannot be used to measure; None if they can."""
    if not can_fork():
        return f"a process cannot safely be forked on {sys.platform}"
    if accelerator_was_started():
        return "it has initialised an accelerator, which a fork cannot use"
    # Some threads are harmless, so a trial decides.
    if num_threads > 1 and has_native_threads() and not _pool_survives(num_threads):
        return f"its thread pool is running, and a fork with {num_threads} threads would wait for it forever"
    return None


def _pool_survives(num_threads: int) -> bool:
    try:
        with fork_here({}) as child:
            child.ask(Prepare(PARALLEL_WORK, num_threads=num_threads, warmup_runs=1), PARALLEL_SECONDS)
    except WorkerTimeout:
        return False
    return True


def _rehearse(
    contenders: Sequence[Contender], num_threads: int, seed: int | None, timeout_seconds: float
) -> str | None:
    """Try each in a fork. Return why forks cannot be used, if so; raise an error of the statement itself."""
    for contender in contenders:
        try:
            tried = _try_in_fork(contender, num_threads, seed, timeout_seconds)
        except SnippetError as error:
            if "forked subprocess" in error.message:
                return "it has queried an accelerator, which can then not be initialised in a fork"
            raise named(error, contender.name) from None
        if tried.starts_accelerator:
            return "the statements initialise an accelerator, which every fork would have to repeat"
        if tried.first_seconds > max(LAZY_SECONDS, LAZY_FACTOR * tried.second_seconds):
            if num_threads > 1:
                return f"the first run takes {tried.first_seconds:.1f} s, and every fork would repeat it"
            # Forks inherit compiled code. One thread only: forks could not use a thread pool started here.
            run_here(contender, num_threads)
    return why_not_forked(num_threads)


@dataclasses.dataclass(frozen=True)
class _Tried:
    first_seconds: float
    second_seconds: float
    starts_accelerator: bool


def _try_in_fork(contender: Contender, num_threads: int, seed: int | None, timeout_seconds: float) -> _Tried:
    prepare = Prepare(contender.stmt, contender.setup, num_threads=num_threads, warmup_runs=1, seed=seed)
    with fork_here(contender.names) as child:
        first = child.ask(prepare, timeout_seconds).first_seconds
        second = child.ask(Time(1), timeout_seconds).seconds
        try:
            child.ask(Prepare(NO_ACCELERATOR, warmup_runs=1))
        except SnippetError:
            return _Tried(first, second, True)
    return _Tried(first, second, False)


def named(error: WorkerError, name: str) -> WorkerError:
    """Prefix the error's message with the statement's name."""
    error.message = f"{name}: {error.message}"
    error.args = (error.message,)
    return error


def run_here(contender: Contender, num_threads: int) -> None:
    """Run the statement once in this process."""
    try:
        with set_torch_threads(num_threads):
            _loop(contender, time.perf_counter).timeit(1)
    except Exception as error:
        described = describe_exception(error)
        message = f"{contender.name}: {described['type']}: {described['message']}"
        raise SnippetError(message, exception_type=described["type"], log=described["traceback"]) from error


def _loop(contender: Contender, clock: Any) -> PythonLoop:
    return PythonLoop(contender.stmt, contender.setup, clock, {"torch": torch_or_missing(), **contender.names})


class InTurn:
    """Replicates in this process: blocks alternate as in forks, but all share its memory and caches."""

    def __init__(
        self, contenders: Sequence[Contender], *, num_threads: int, seconds: float, seed: int | None = None
    ) -> None:
        self._contenders = contenders
        self._num_threads = num_threads
        self._seconds = seconds
        self._order = random.Random(seed)
        core = quietest_core() if num_threads == 1 else None
        self._cores = () if core is None else (core,)
        for contender in contenders:
            run_here(contender, num_threads)
        # Chosen now: the statements may have initialised an accelerator, whose queue the clock must wait for.
        self._clock = choose_clock(timer)

    def take(self, benchmark: int, turn: int) -> Replicate:
        """Take one replicate with new loops and set-ups, so that their addresses are sampled, too."""
        began = time.perf_counter()
        with contextlib.ExitStack() as stack:
            stack.enter_context(on_cores(self._cores))
            stack.enter_context(set_torch_threads(self._num_threads))
            loops = [_loop(contender, self._clock) for contender in self._contenders]
            # In random order: addresses depend on what was made before.
            opened = {id(loop): loop for loop in self._order.sample(loops, len(loops))}
            blocks = {key: stack.enter_context(loop.open_blocks()) for key, loop in opened.items()}
            replicate = alternate([blocks[id(loop)] for loop in loops], seconds=self._seconds, order=self._order)
        return dataclasses.replace(replicate, whole_seconds=time.perf_counter() - began)
