"""Ladder: what a rung of overriding adds to the rung below it. `photometer run overrides` measures it.

In: orders with a tag such as `ladder:3>1` (rung 3 stands on rung 1). Out: a LadderStep for each rung above another one.
Both are timed in the same moments, so that the difference is known far better than either time. `analysis/ladder.py`
makes the whole ladder of the steps and of what else the run has measured.
"""

from __future__ import annotations

import dataclasses
import re
from typing import ClassVar

from photometer.instruments.contest import time_against
from photometer.instruments.declaration import Asked, Beside, Figure, Instrument
from photometer.model.order_name import label_text
from photometer.model.records import HighEnd, LowEnd
from photometer.model.task import Language
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.session import Session

_PLACE = re.compile(r"ladder:(\d+)(?:>(\d+))?")
# With eight replicates of a tenth of a second the interval is about half a per cent either way.
PRECISION = 0.005
MOST_REPLICATES = 8
REPLICATE_SECONDS = 0.1


@dataclasses.dataclass(frozen=True)
class LadderStep:
    """One rung for one call. `added_…` are over the rung `below`; the lowest rung has none.

    A run records the times of rungs above others; the rest comes from its counts (analysis/ladder.py).
    """

    KIND: ClassVar[str] = "ladder_step"

    call: str
    rung: str
    below: str | None
    seconds: float | None = None
    added_seconds: float | None = None
    added_interval_seconds: tuple[LowEnd, HighEnd] | None = None
    instructions: float | None = None
    added_instructions: float | None = None
    order_id: str = ""
    below_id: str = ""
    below_seconds: float | None = None


def rungs_below(plan: WorkOrders) -> dict[str, tuple[WorkOrder, ...]]:
    """Return, by the id of each rung's order, the order of the rung below it, if the plan has that too."""
    rungs = [(order, place) for order in plan if (place := _place(order)) is not None]
    at = {_key(order, place[1]): order for order, place in rungs}
    pairs = ((order, at.get(_key(order, place[2]))) for order, place in rungs if place[2] is not None)
    return {order.id: (below,) for order, below in pairs if below is not None}


def _place(order: WorkOrder) -> re.Match[str] | None:
    if order.args.language is not Language.PYTHON:
        return None
    return next((place for tag in order.tags if (place := _PLACE.fullmatch(tag))), None)


def _key(order: WorkOrder, number: str) -> tuple[object, ...]:
    """Return what rungs of one call have in common, with the number of one of them."""
    return (order.label[:-1], order.auto, number)


def climb(session: Session, asked: Asked) -> LadderStep:
    """Time a rung against the one below it."""
    (below,) = asked.against
    times = time_against(
        session, asked, precision=PRECISION, most_replicates=MOST_REPLICATES, seconds=REPLICATE_SECONDS
    )
    return LadderStep(
        label_text(asked.order.label[:-1]),
        asked.order.label[-1],
        below.order.label[-1],
        times.seconds,
        times.added_seconds,
        times.added_interval_seconds,
        order_id=asked.order.id,
        below_id=below.order.id,
        below_seconds=times.base_seconds,
    )


def _added(step: LadderStep) -> tuple[float, float]:
    assert step.added_seconds is not None
    return step.added_interval_seconds or (step.added_seconds, step.added_seconds)


LADDER = Instrument(
    name="ladder",
    doing="comparing with the rung below",
    record=LadderStep,
    measure=climb,
    figures=(
        Figure("added_seconds", "s", of=lambda step: step.added_seconds, exact=False, head="added", interval=_added),
    ),
    needs=("wall", "ladder"),
    against=rungs_below,
    beside=Beside.OTHER_CORES,
    first_guess_seconds=2.5,
)
