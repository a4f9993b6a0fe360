"""Wall time of a work order, in visits: each is a fresh fork, a memory layout of its own, a warm-up, and some blocks.

In: a session and a request. Out: a Visit; a run makes one Measurement of all visits of an order.
"""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Sequence

from photometer.errors import WorkerTimeout
from photometer.instruments.declaration import Asked, Beside, Figure, Instrument, Option
from photometer.instruments.ready_order import kind_of, preparation_of
from photometer.instruments.replicate import BLOCK_SECONDS
from photometer.instruments.settled_memory import settle_memory
from photometer.instruments.wall_time import Beforehand, CoreWatch, take_blocks
from photometer.model.diagnosis import Conditions
from photometer.model.measurement import Measurement
from photometer.model.visit import Visit
from photometer.session.child_process import ChildProcess
from photometer.session.session import Session
from photometer.worker.messages import TimeBlocks

# A fetch takes about so long: long beside the 0.1 ms of a request and its reply, short beside the time to measure.
FETCH_SECONDS = 0.02
MOST_BLOCKS_PER_FETCH = 64
# A visit of fewer blocks may have met nothing but disturbances; but what takes this long is not repeated for that.
FEWEST_BLOCKS = 4
LONG_SECONDS = 0.25


@dataclasses.dataclass(frozen=True)
class ShortVisit:
    """Stop after about this many seconds, and not before there are a few blocks. A stopping rule."""

    seconds: float

    def reason_to_stop(self, times: Sequence[float], seconds_spent: float) -> str | None:
        enough = len(times) >= FEWEST_BLOCKS or seconds_spent >= LONG_SECONDS
        return f"visited for {seconds_spent:.2g} s" if enough and seconds_spent >= self.seconds else None

    def next_look(self, samples: int) -> int:
        return samples + 1


def take_visit(session: Session, work: Asked) -> Visit:
    """Time blocks for about `work.min_run_time` seconds; the time limit is for all of the visit."""
    began = time.perf_counter()
    ready, cores = work.ready, work.cores
    prepare = dataclasses.replace(preparation_of(session, ready, cores), warmup_runs=1, layout_seed=work.layout_seed)
    if prepare.seed is None:
        prepare = dataclasses.replace(prepare, seed=work.seed)
    deadline = time.monotonic() + ready.order.timeout_seconds
    # Threads that sleep while they wait take as long to wake as a small statement does, and never the same time.
    kind = dataclasses.replace(kind_of(ready.order), spins=ready.order.args.num_threads > 1)
    with session.server(kind, cores=cores) as server:
        with server.child() as child:
            prepared = child.ask(prepare, ready.order.timeout_seconds)
            left = max(deadline - time.monotonic(), 0.0)
            if prepared.first_seconds < LONG_SECONDS:
                settle_memory([child], left)
            blocks = RemoteBlocks(child, max(deadline - time.monotonic(), 0.0))
            taken = take_blocks(
                blocks.time_block,
                ShortVisit(work.min_run_time),
                clock=time.perf_counter,
                min_run_time=work.min_run_time,
                watch=blocks,
                known=Beforehand(prepared.first_seconds, BLOCK_SECONDS, work.runs_per_block),
            )
        # Known when the child is gone.
        conditions = dataclasses.replace(taken.conditions, left_processes=server.strays or None)
    return Visit(
        taken.number_per_run,
        tuple(taken.block_seconds),
        whole_seconds=time.perf_counter() - began,
        conditions=conditions,
        compile_seconds=prepared.compile_seconds,
    )


class RemoteBlocks(CoreWatch):
    """Blocks timed in a child, fetched several at a time, with the preemptions of each.

    `time_block(n)` and the watch over it in one: the watch reports on the block that was returned last. The child
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
                remedy="Allow more time (--timeout), or measure less (--min-run-time).",
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


def _seconds(measurement: Measurement) -> float | None:
    return measurement.seconds if measurement.raw_times else None


WALL = Option("wall", "Measure wall time.", default=True)

WALL_TIME = Instrument(
    name="time",
    doing="timing",
    record=Measurement,
    measure=take_visit,
    figures=(
        Figure("seconds", "s", of=_seconds, exact=False, interval=lambda measurement: measurement.interval_seconds),
    ),
    option=WALL,
    beside=Beside.OTHER_CORES,
    ends_order=True,
    first_guess_seconds=0.08,
)
