"""Rounds: every order is timed in several short visits; in each round one visit of all orders of a group, shuffled.

A machine changes between states that last from a tenth of a second to minutes. One long measurement per order would
see only one of them, by chance; visits that are a round apart see many. A group has the orders of a few minutes: more
time between visits improves nothing, and a large suite is finished group by group. VisitBook keeps the visits, decides
the next one, and combines those of an order into one measurement.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from photometer.errors import PhotometerError
from photometer.instruments.declaration import Asked
from photometer.instruments.ready_order import ReadyOrder, task_spec_of
from photometer.instruments.visit import take_visit
from photometer.model.diagnosis import FEWEST_VISITS
from photometer.model.measurement import Measurement
from photometer.model.visit import Visit, measurement_of_visits
from photometer.plan.work_order import WorkOrder
from photometer.session.cores import neighbours, quietest_core
from photometer.session.session import Session
from photometer.stats.undisturbed import USUAL_VISITS, visits_wanted

# What takes long (a statement of a second, a set-up that compiles) is visited less often: as often as fits into this
# many seconds and twice what was asked to be measured, but not less often than that.
LONGEST_VISITS_SECONDS = 2.0

# The machine's states last up to minutes. The standard suite (168 orders, 2 minutes) is one group.
GROUP_SECONDS = 200.0
# What the visits of an order take beside its blocks: forks, set-ups, warm-ups. Measured: 0.71 s with 0.2 s of blocks.
BESIDE_BLOCKS_SECONDS = 0.5

_LARGEST_SEED = 2**31


def orders_per_group(seconds_per_order: float, lanes: int) -> int:
    """Return how many orders form a group that this many `lanes` time in a group's time."""
    return max(int(GROUP_SECONDS * lanes / (seconds_per_order + BESIDE_BLOCKS_SECONDS)), 1)


def groups_of(orders: Sequence[WorkOrder], most: int) -> dict[str, int]:
    """Return the group of each order: at most so many per group, and the variants of a benchmark in one if they fit."""
    groups: dict[str, int] = {}
    group = size = 0
    for _, variants in itertools.groupby(orders, key=lambda order: order.label):
        benchmark = list(variants)
        if size + len(benchmark) > most and size:
            group, size = group + 1, 0
        for order in benchmark:
            if size == most:
                group, size = group + 1, 0
            groups[order.id] = group
            size += 1
    return groups


class Visiting(Protocol):
    """A job that has several rounds."""

    @property
    def group(self) -> int: ...

    @property
    def visit(self) -> int: ...


_Job = TypeVar("_Job", bound=Visiting)


class Rounds(Generic[_Job]):
    """A queue that returns visits of the earliest group and round first, within a round in random order."""

    def __init__(self, source: random.Random | None = None) -> None:
        self._source = source or random.Random()
        self._rounds: dict[tuple[int, int], list[_Job]] = {}

    def add(self, job: _Job, *, last: bool = False) -> None:
        """Insert a job at a random place of its round, or after all others of it."""
        waiting = self._rounds.setdefault((job.group, job.visit), [])
        place = 0 if last else self._source.randrange(len(waiting) + 1)
        # The end of the list is what comes next. Swapping keeps the order random and costs nothing.
        waiting.append(job)
        waiting[place], waiting[-1] = waiting[-1], waiting[place]

    def next(self) -> _Job | None:
        return self._rounds[min(self._rounds)][-1] if self._rounds else None

    def remove(self, job: _Job) -> None:
        round_ = (job.group, job.visit)
        waiting = self._rounds[round_]
        # It is the last one, unless another was put behind it meanwhile.
        if waiting[-1] is job:
            waiting.pop()
        else:
            waiting.remove(job)
        if not waiting:
            del self._rounds[round_]


@dataclasses.dataclass(frozen=True)
class NextVisit:
    """Settings of an order's next visit: layout, seconds, runs per block, and data."""

    layout_seed: int
    seconds: float
    runs_per_block: int
    seed: int


class VisitBook:
    """The visits of orders that are not finished.

    `on_visit` is called with each order and visit. With `is_quick`, one visit per order is taken and stays in the book;
    a later run takes the others.
    """

    def __init__(
        self,
        seconds_per_order: float,
        *,
        earlier: Mapping[str, Sequence[Visit]] | None = None,
        on_visit: Callable[[WorkOrder, Visit], object] = lambda order, visit: None,
        is_quick: bool = False,
    ) -> None:
        self._seconds = seconds_per_order
        self._is_quick = is_quick
        self._on_visit = on_visit
        self._taken: dict[str, list[Visit]] = {order_id: list(visits) for order_id, visits in (earlier or {}).items()}

    @property
    def orders_begun(self) -> int:
        """Return how many orders have visits and are not finished."""
        return len(self._taken)

    def taken(self, order_id: str) -> int:
        return len(self._taken.get(order_id, ()))

    def left(self, order_id: str) -> int:
        """Return how many visits an order still needs, as far as is known: if they agree, it needs fewer."""
        visits = self._taken.get(order_id, [])
        return max((1 if self._is_quick else self._wanted(visits)) - len(visits), 0)

    def is_complete(self, order_id: str) -> bool:
        """Return whether the visits of an order make its measurement."""
        visits = self._taken.get(order_id, [])
        return bool(visits) and len(visits) >= self._wanted(visits)

    def next_visit(self, order_id: str) -> NextVisit:
        visits = self._taken.get(order_id, [])
        spent = sum(sum(visit.block_seconds) for visit in visits)
        usual = self._seconds / USUAL_VISITS
        share = (self._seconds - spent) / max(self._wanted(visits) - len(visits), 1)
        return NextVisit(
            layout_seed(order_id, len(visits)),
            # The first visits of a statement may have taken more than their share; those left are short, not empty.
            # What scatters gets more visits, like those before.
            usual if len(visits) >= USUAL_VISITS else max(share, usual / 4),
            visits[0].number_per_run if visits else 0,
            data_seed(len(visits)),
        )

    def add(self, order: WorkOrder, visit: Visit) -> None:
        self._taken.setdefault(order.id, []).append(visit)
        self._on_visit(order, visit)

    def forget(self, order_id: str) -> None:
        """Drop the visits of an order that was given up."""
        self._taken.pop(order_id, None)

    def finish(self, order: WorkOrder) -> Measurement:
        """Return the measurement of all visits of an order, and forget them."""
        return measurement_of_visits(self._taken.pop(order.id), task_spec_of(order))

    def _wanted(self, visits: Sequence[Visit]) -> int:
        if not visits:
            return USUAL_VISITS
        # The fastest: the first one of a compiled statement compiles.
        each = min(visit.whole_seconds for visit in visits)
        affordable = int((LONGEST_VISITS_SECONDS + 2 * self._seconds) / max(each, 1e-9))
        per_run = [[seconds / visit.number_per_run for seconds in visit.block_seconds] for visit in visits]
        return min(max(affordable, FEWEST_VISITS), visits_wanted(per_run))


def layout_seed(order_id: str, visit: int) -> int:
    """Return the seed of a visit's memory layout: different for every visit, the same in every run.

    The effect of a layout on a statement is then the same in every run, and averages out over the visits.
    """
    digest = hashlib.sha256(f"{order_id} {visit}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % (_LARGEST_SEED - 1) + 1


def data_seed(visit: int) -> int:
    """Return the seed of a visit's data: different for every visit, the same for all orders and in every run.

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
    """Time orders as a run does, on the quietest core.

    Return the measurements, and the reasons why others have none, by order.
    """
    book = VisitBook(seconds_per_order)
    failures: dict[str, PhotometerError] = {}
    core = quietest_core()
    source = random.Random()
    done = 0
    while left := [ready for ready in orders if ready.order.id not in failures and book.left(ready.order.id)]:
        for ready in source.sample(left, len(left)):
            visit = book.next_visit(ready.order.id)
            work = Asked(
                ready,
                visit.seconds,
                repeats=1,
                cores=neighbours(core, ready.order.processors),
                layout_seed=visit.layout_seed,
                runs_per_block=visit.runs_per_block,
                seed=visit.seed,
            )
            try:
                book.add(ready.order, take_visit(session, work))
            except PhotometerError as error:
                failures[ready.order.id] = error
        done += 1
        on_round(done, max(done, USUAL_VISITS))
    timed = [ready.order for ready in orders if ready.order.id not in failures]
    return {order.id: book.finish(order) for order in timed}, failures
