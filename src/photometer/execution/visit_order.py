"""One visit of a work order: a fresh fork, a memory layout of its own, a warm-up, and some blocks; and rounds of them.

In: a session, a ReadyOrder, the visit's share of the time. Out: a Visit as a record, or the measurements of all rounds.
"""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from photometer.errors import PhotometerError
from photometer.execution.compile_order import kind_of, preparation_of
from photometer.execution.executor import MeasureOrder, ReadyOrder, Step
from photometer.execution.measure_order import RemoteBlocks
from photometer.execution.rounds import VisitBook
from photometer.execution.run_settings import VISITS
from photometer.instruments.wall_time import Beforehand, take_blocks
from photometer.model.measurement import Measurement
from photometer.model.records import from_record, to_record
from photometer.model.visit import Visit
from photometer.session.cores import neighbours, quietest_core
from photometer.session.session import Session

# Long beside what reading the clock takes, short beside what lies between two interrupts.
BLOCK_SECONDS = 5e-4
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


def visit_order(session: Session, work: MeasureOrder) -> dict[str, Any]:
    """Time blocks for about `work.min_run_time` seconds; the time limit is for all of the visit."""
    began = time.perf_counter()
    ready, cores = work.ready, work.cores
    prepare = dataclasses.replace(preparation_of(session, ready, cores), warmup_runs=1, layout_seed=work.layout_seed)
    deadline = time.monotonic() + ready.order.timeout_seconds
    # Threads that sleep while they wait take as long to wake as a small statement does, and never the same time.
    kind = dataclasses.replace(kind_of(ready.order), spins=ready.order.args.num_threads > 1)
    with session.server(kind, cores=cores) as server:
        with server.child() as child:
            prepared = child.ask(prepare, ready.order.timeout_seconds)
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
    return to_record(
        Visit(
            taken.number_per_run,
            tuple(taken.block_seconds),
            whole_seconds=time.perf_counter() - began,
            conditions=conditions,
            compile_seconds=prepared.compile_seconds,
        )
    )


def visit_in_rounds(
    session: Session,
    orders: Sequence[ReadyOrder],
    seconds_per_order: float,
    *,
    on_round: Callable[[int, int], object] = lambda done, rounds: None,
) -> tuple[dict[str, Measurement], dict[str, PhotometerError]]:
    """Time orders as a run does, on the quietest core. Return the measurements, and why others have none, by order."""
    book = VisitBook(seconds_per_order)
    failures: dict[str, PhotometerError] = {}
    core = quietest_core()
    source = random.Random()
    for done in range(VISITS):
        left = [ready for ready in orders if ready.order.id not in failures and book.left(ready.order.id)]
        for ready in source.sample(left, len(left)):
            visit = book.next_visit(ready.order.id)
            work = MeasureOrder(
                Step.TIME,
                ready,
                visit.seconds,
                repeats=1,
                cores=neighbours(core, ready.order.args.num_threads),
                layout_seed=visit.layout_seed,
                runs_per_block=visit.runs_per_block,
            )
            try:
                book.add(ready.order.id, from_record(Visit, visit_order(session, work)))
            except PhotometerError as error:
                failures[ready.order.id] = error
        on_round(done + 1, VISITS)
    timed = [ready.order for ready in orders if ready.order.id not in failures]
    return {order.id: book.finish(order) for order in timed}, failures
