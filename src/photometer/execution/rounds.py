"""Rounds: every order is timed in several short visits, spread over the run; in each round one visit of all, shuffled.

A machine changes between states that last from a tenth of a second to minutes. One stretch of timing per order would
meet one of them by chance; visits that are a round apart meet many. VisitBook keeps what they gave, says what the next
one should do, and makes one measurement of them all.
"""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from photometer.errors import PhotometerError
from photometer.execution.run_settings import VISITS
from photometer.instruments.declaration import Asked
from photometer.instruments.ready_order import ReadyOrder, task_spec_of
from photometer.instruments.visit import take_visit
from photometer.model.diagnosis import FEWEST_VISITS
from photometer.model.measurement import Measurement
from photometer.model.visit import Visit, measurement_of_visits
from photometer.plan.work_order import WorkOrder
from photometer.session.cores import neighbours, quietest_core
from photometer.session.session import Session

# What takes long (a statement of a second, a set-up that compiles) is visited less often: as often as fits into this
# many seconds and twice what was asked to be measured, but not less often than that.
LONGEST_VISITS_SECONDS = 2.0

_LARGEST_SEED = 2**31


class Visiting(Protocol):
    """A job that has several rounds."""

    @property
    def visit(self) -> int: ...


_Job = TypeVar("_Job", bound=Visiting)


class Rounds(Generic[_Job]):
    """A queue that returns visits of the earliest round first, within a round in random order."""

    def __init__(self, source: random.Random | None = None) -> None:
        self._source = source or random.Random()
        self._rounds: dict[int, list[_Job]] = {}

    def add(self, job: _Job, *, last: bool = False) -> None:
        """Put it at a random place of its round, or behind all others of it."""
        waiting = self._rounds.setdefault(job.visit, [])
        place = 0 if last else self._source.randrange(len(waiting) + 1)
        # The end of the list is what comes next. Swapping keeps the order random and costs nothing.
        waiting.append(job)
        waiting[place], waiting[-1] = waiting[-1], waiting[place]

    def next(self) -> _Job | None:
        return self._rounds[min(self._rounds)][-1] if self._rounds else None

    def remove(self, job: _Job) -> None:
        waiting = self._rounds[job.visit]
        waiting.remove(job)
        if not waiting:
            del self._rounds[job.visit]


@dataclasses.dataclass(frozen=True)
class NextVisit:
    """What the next visit of an order should do: in which layout, for how long, runs per block, and which data."""

    layout_seed: int
    seconds: float
    runs_per_block: int
    seed: int


class VisitBook:
    """What the visits of orders that are not finished have given so far. `on_visit` hears of each, with its order."""

    def __init__(
        self,
        seconds_per_order: float,
        *,
        earlier: Mapping[str, Sequence[Visit]] | None = None,
        on_visit: Callable[[str, Visit], object] = lambda order_id, visit: None,
    ) -> None:
        self._seconds = seconds_per_order
        self._on_visit = on_visit
        self._taken: dict[str, list[Visit]] = {order_id: list(visits) for order_id, visits in (earlier or {}).items()}

    def taken(self, order_id: str) -> int:
        return len(self._taken.get(order_id, ()))

    def left(self, order_id: str) -> int:
        """Return how many visits an order still wants."""
        visits = self._taken.get(order_id, [])
        return max(self._wanted(visits) - len(visits), 0)

    def next_visit(self, order_id: str) -> NextVisit:
        visits = self._taken.get(order_id, [])
        spent = sum(sum(visit.block_seconds) for visit in visits)
        share = (self._seconds - spent) / max(self._wanted(visits) - len(visits), 1)
        return NextVisit(
            layout_seed(order_id, len(visits)),
            # The first visits of a statement may have taken more than their share; those left are short, not empty.
            max(share, self._seconds / VISITS / 4),
            visits[0].number_per_run if visits else 0,
            data_seed(len(visits)),
        )

    def add(self, order_id: str, visit: Visit) -> None:
        self._taken.setdefault(order_id, []).append(visit)
        self._on_visit(order_id, visit)

    def forget(self, order_id: str) -> None:
        """Drop an order that was given up."""
        self._taken.pop(order_id, None)

    def finish(self, order: WorkOrder) -> Measurement:
        """Return the measurement of all visits of an order, and forget them."""
        return measurement_of_visits(self._taken.pop(order.id), task_spec_of(order))

    def _wanted(self, visits: Sequence[Visit]) -> int:
        if not visits:
            return VISITS
        # The fastest: the first one of a compiled statement compiles.
        each = min(visit.whole_seconds for visit in visits)
        affordable = int((LONGEST_VISITS_SECONDS + 2 * self._seconds) / max(each, 1e-9))
        return min(max(affordable, FEWEST_VISITS), VISITS)


def layout_seed(order_id: str, visit: int) -> int:
    """Return the seed of a visit's memory layout: others for every visit, the same in every run.

    What a layout is worth to a statement is then in every run alike, and averages out over the visits.
    """
    digest = hashlib.sha256(f"{order_id} {visit}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % (_LARGEST_SEED - 1) + 1


def data_seed(visit: int) -> int:
    """Return the seed of a visit's data: others for every visit, the same for all orders and in every run.

    Variants of a benchmark, and runs of two revisions, then measure the same data.
    """
    digest = hashlib.sha256(f"data {visit}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % _LARGEST_SEED


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
            work = Asked(
                ready,
                visit.seconds,
                repeats=1,
                cores=neighbours(core, ready.order.args.num_threads),
                layout_seed=visit.layout_seed,
                runs_per_block=visit.runs_per_block,
                seed=visit.seed,
            )
            try:
                book.add(ready.order.id, take_visit(session, work))
            except PhotometerError as error:
                failures[ready.order.id] = error
        on_round(done + 1, VISITS)
    timed = [ready.order for ready in orders if ready.order.id not in failures]
    return {order.id: book.finish(order) for order in timed}, failures
