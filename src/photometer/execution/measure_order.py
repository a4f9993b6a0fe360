"""The measurements of one work order in a child: wall time, instructions, device modes, a single run for its result.

In: a session and a ReadyOrder. Out: records as a results file keeps them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from photometer.errors import DefinitionError, WorkerTimeout
from photometer.execution.compile_order import kind_of, preparation_of
from photometer.execution.executor import ReadyOrder
from photometer.execution.order_record import task_spec_of
from photometer.instruments.callgrind.count_task import DEFAULT_NUMBER, CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.callgrind.fitted_stacks import fitted_stacks
from photometer.instruments.device.in_child import modes_in_child
from photometer.instruments.device.options import DeviceOptions
from photometer.instruments.wall_time import CoreWatch
from photometer.model.diagnosis import Conditions
from photometer.model.packed_stacks import SMALLEST_SHARE, pack_stacks
from photometer.model.records import to_record
from photometer.session.child_process import ChildProcess
from photometer.session.session import Session
from photometer.worker.messages import Time, TimeBlocks

# A fetch takes about so long: long beside the 0.1 ms of a request and its reply, short beside the time to measure.
FETCH_SECONDS = 0.02
MOST_BLOCKS_PER_FETCH = 64


def count_task_of(ready: ReadyOrder, repeats: int = 1) -> CountTask:
    spec = dataclasses.replace(task_spec_of(ready.order), setup=ready.setup)
    return CountTask(spec, built=ready.built, repeats=repeats, timeout_seconds=ready.order.timeout_seconds)


def count_order(
    counter: InstructionCounter,
    ready: ReadyOrder,
    repeats: int,
    cores: Sequence[int] = (),
    *,
    seconds_per_run: float | None = None,
) -> dict[str, Any]:
    """Count the order; one that is too slow for the usual number of runs under Valgrind in fewer."""
    *tasks, last = count_task_of(ready, repeats).fitting(seconds_per_run)
    counted = None
    for task in tasks:
        with contextlib.suppress(WorkerTimeout):
            counted = counter.count(task, cores=cores)
            break
    counted = counted or counter.count(last, cores=cores)
    counts = counted.instruction_counts()
    if counted.task.number < DEFAULT_NUMBER:
        runs = "a single run" if counted.task.number == 1 else f"{counted.task.number} runs"
        reason = f"counted in {runs}, not {DEFAULT_NUMBER}, for it is slow under Valgrind"
        counts = dataclasses.replace(counts, reasons=(*counts.reasons, reason))
    # For the report's icicle chart: 20 ms and some 10 KB per statement.
    stacks = fitted_stacks(counted.stacks(smallest_share=SMALLEST_SHARE), counts)
    counts = dataclasses.replace(counts, task_spec=task_spec_of(ready.order))
    return {**to_record(counts), "stacks": pack_stacks(stacks)}


def measure_on_device(
    session: Session, ready: ReadyOrder, min_run_time: float, cores: Sequence[int] = ()
) -> dict[str, Any]:
    """Measure the table of modes in a child. Seconds are per mode; attaching the profiler takes some more."""
    order = ready.order
    if not order.auto.on_device:
        raise DefinitionError(
            "a device measurement of an order for the CPU was asked for",
            remedy='Give the benchmark devices=("cuda",), or measure wall time.',
        )
    prepare = preparation_of(session, ready, cores)
    with session.child(kind_of(order), cores) as child:
        measured = modes_in_child(
            child,
            prepare,
            task_spec_of(order),
            DeviceOptions(min_run_time=min_run_time),
            timeout_seconds=order.timeout_seconds,
        )
    return to_record(measured)


def run_once(
    session: Session,
    ready: ReadyOrder,
    *,
    path: tuple[str, ...] = (),
    folder: str = "",
    cores: Sequence[int] = (),
) -> None:
    """Run it once in `folder`, for what it leaves behind there: a probe's result. `path` is what it imports from."""
    timeout_seconds = ready.order.timeout_seconds
    prepare = dataclasses.replace(preparation_of(session, ready, cores), path=path, folder=folder)
    with session.child(kind_of(ready.order), cores) as child:
        child.ask(prepare, timeout_seconds)
        child.ask(Time(1), timeout_seconds)


class RemoteBlocks(CoreWatch):
    """Blocks timed in a child, fetched several at a time, with what the child noticed of each.

    `time_block(n)` and the watch over it in one: the watch speaks of the block that was handed out last. The child
    counts preemptions, because this side only waits. Fetching several at once keeps our own delays out of the way.
    """

    is_this_thread = False

    def __init__(self, child: ChildProcess, timeout_seconds: float) -> None:
        self._child = child
        self._deadline = time.monotonic() + timeout_seconds
        self._timeout_seconds = timeout_seconds
        super().__init__()
        self._number, self._last_seconds = -1, 0.0
        self._fetched: deque[tuple[float, bool]] = deque()
        self._last_was_preempted = False
        self._wall_seconds = self._cpu_seconds = 0.0
        self._noticed_preemptions = 0

    def time_block(self, number: int) -> float:
        if number != self._number or not self._fetched:
            self._fetch(number)
        seconds, self._last_was_preempted = self._fetched.popleft()
        return seconds

    def was_preempted(self) -> bool:
        return self._last_was_preempted

    def conditions(self) -> Conditions:
        return Conditions(
            wall_seconds=self._wall_seconds, cpu_seconds=self._cpu_seconds, preemptions=self._noticed_preemptions
        )

    def _fetch(self, number: int) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            self._child.kill()
            raise WorkerTimeout(
                f"not finished within {self._timeout_seconds:g} s",
                remedy="Give it longer (--timeout), or measure less (--min-run-time).",
            )
        blocks = 1
        if number == self._number:
            blocks = int(min(max(FETCH_SECONDS / max(self._last_seconds, 1e-9), 1), MOST_BLOCKS_PER_FETCH))
        else:
            # What was noticed while warming up with other numbers does not belong to the measurement.
            self._wall_seconds = self._cpu_seconds = 0.0
            self._noticed_preemptions = 0
        taken = self._child.ask(TimeBlocks(number, blocks), left)
        preempted = (count > 0 for count in taken.block_preemptions)
        self._fetched = deque(zip(taken.block_seconds, preempted, strict=True))
        self._number, self._last_seconds = number, max(taken.block_seconds)
        self._wall_seconds += taken.wall_seconds
        self._cpu_seconds += taken.cpu_seconds
        self._noticed_preemptions += sum(taken.block_preemptions)
