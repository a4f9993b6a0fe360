"""Source: where the sides of a comparison come from; and Observer, which receives the progress of a comparison.

A source starts the sides and checks that the benchmarks run on them: environments of a suite (environment_source.py),
statements (statement_source.py), tests in which pytest has stopped (pytest_plugin/paired.py). All later stages
(counting, timing, memory, causes, files) are the same for every source: see comparison.py.
"""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonSkip, side_label
from photometer.analysis.verdict import Verdict
from photometer.comparing.request import ComparisonSettings
from photometer.environments.resolved import ResolvedEnvironment
from photometer.environments.worktree import project_of
from photometer.errors import PhotometerError
from photometer.execution.executor import Failure
from photometer.instruments.contest import Contestants
from photometer.instruments.ready_order import ReadyOrder, preparation_of
from photometer.instruments.replicate import Side
from photometer.model.comparison_replicate import HEADER_NAME, described
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.session import Session


class Observer:
    def stage(self, text: str) -> None:
        """Note that a new stage begins: preparing, checking, measuring, counting."""

    def replicate(self, title: str, verdict: Verdict, spent_seconds: float, budget_seconds: float) -> None:
        """Note that one more replicate was judged."""

    def aside(self) -> contextlib.AbstractContextManager[object]:
        """Return a context in which something else may be printed."""
        return contextlib.nullcontext()

    def decided(self, title: str, verdict: Verdict) -> None:
        """Note that a verdict is final."""

    def counted(self, done: int, total: int) -> None:
        """Note how many counts are done while something else is measured; called from another thread."""

    def step(self, done: int, total: int) -> None:
        """Note how much of the current stage is done."""


@dataclasses.dataclass(frozen=True)
class StartedSide:
    """One side of a comparison: its name, the session that runs it, and the environment if it is one of its own."""

    name: str
    session: Session
    resolved: ResolvedEnvironment | None = None

    @property
    def checkout(self) -> str:
        """Return the folder that its code is imported from; empty if it is installed."""
        resolved = self.resolved
        if resolved is None or resolved.checkout is None or not resolved.imports_checkout:
            return ""
        return str(resolved.checkout.folder)

    @property
    def own_folder(self) -> str:
        """Return the folder of code that only this side has: its checkout, or packages laid over the interpreter."""
        overlay = None if self.resolved is None else self.resolved.overlay
        return self.checkout or ("" if overlay is None else str(overlay.folder))

    def identity(self) -> dict[str, Any]:
        """Return the properties that must be equal for a comparison to be resumed."""
        return {"spec": self.name} if self.resolved is None else self.resolved.identity()


@dataclasses.dataclass(frozen=True)
class Contest:
    """`other` against `first`, both as positions among the sides."""

    first: int
    other: int


@dataclasses.dataclass(frozen=True)
class CheckedPlan:
    """The orders that can be measured, ready for each position of a side; then failures and warnings."""

    orders: tuple[WorkOrder, ...]
    ready: Mapping[str, Mapping[int, ReadyOrder]]
    failures: tuple[ComparisonFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    # By order and position of the side.
    order_warnings: Mapping[tuple[str, int], tuple[str, ...]] = dataclasses.field(default_factory=dict)
    # How long a run of an order takes on the reference, roughly.
    seconds_per_run: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    # Orders that the time limit left unchecked; they are not measured either.
    not_reached: tuple[WorkOrder, ...] = ()
    # Orders that say themselves that they do not apply.
    skips: tuple[ComparisonSkip, ...] = ()

    def contestants(self, sides: Sequence[StartedSide], orders: Sequence[WorkOrder]) -> list[Contestants]:
        """Return the sides on which each order runs, the reference first."""
        return [
            Contestants(
                tuple(
                    Side(sides[place].session, preparation_of(sides[place].session, ready, device_time=True))
                    for place, ready in sorted(self.ready[order.id].items())
                ),
                order.timeout_seconds,
            )
            for order in orders
        ]

    def places(self, order_id: str) -> tuple[int, ...]:
        """Return the positions of the sides on which an order runs."""
        return tuple(sorted(self.ready[order_id]))

    def contest(self, order_id: str, wanted: Contest) -> Contest | None:
        """Return the contest that is possible: a missing neighbour is skipped; None if there is none."""
        places = self.places(order_id)
        if wanted.other not in places:
            return None
        if wanted.first == 0:
            return wanted
        before = max(place for place in places if place < wanted.other)
        # If its only neighbour is the reference, it is compared with it anyway.
        return None if before == 0 else Contest(before, wanted.other)

    def before(self, order_id: str, place: int) -> int:
        """Return the nearest side before this one on which the order runs."""
        return max(other for other in self.places(order_id) if other < place)


def contests_of(sides: int) -> list[Contest]:
    """Return the contests of this many sides: all against the first, then each against the one before it.

    The first say how much changed, the second at which step.
    """
    return [
        *(Contest(0, other) for other in range(1, sides)),
        *(Contest(other - 1, other) for other in range(2, sides)),
    ]


class Source(Protocol):
    """Provides the sides of a comparison, the reference first, and what runs on them."""

    def open(self, stack: contextlib.ExitStack, observer: Observer) -> tuple[StartedSide, ...]:
        """Start the sides; they exist until the stack is closed."""

    def plan(self) -> WorkOrders:
        """Return the orders to compare."""

    def titles(self) -> Mapping[str, str]:
        """Return the titles of the orders, by id."""

    def header(self, sides: Sequence[StartedSide]) -> dict[str, Any]:
        """Return the header of a results file."""

    def check(self, sides: Sequence[StartedSide], observer: Observer) -> CheckedPlan:
        """Run everything once on every side."""


def comparison_header(plan: WorkOrders, sides: Sequence[StartedSide], settings: ComparisonSettings) -> dict[str, Any]:
    """Return the header of a comparison: the properties that resuming requires, and the criteria of its verdicts."""
    about = {
        "id": uuid.uuid4().hex,
        "suite": plan.suite,
        "project": project_name(sides),
        "fingerprint": plan.fingerprint,
        "seed": settings.seed,
        "margin": settings.common_margin,
        "false_discovery_rate": settings.false_discovery_rate,
        "names": [side.name for side in sides],
    }
    return {HEADER_NAME: described(about, [side.identity() for side in sides])}


def project_name(sides: Sequence[StartedSide]) -> str:
    """Return the name of the repository of the first revision among the sides; empty without one."""
    sources = (side.resolved.spec.git for side in sides if side.resolved is not None)
    source = next((source for source in sources if source is not None), None)
    return "" if source is None else project_of(source)


def failure_of(
    order_id: str, title: str, names: Sequence[str], place: int | None, error: PhotometerError | Failure
) -> ComparisonFailure:
    """Return the failure of an order on a side; with None the side is unknown."""
    side = "" if place is None else side_label(names, place)
    return ComparisonFailure(order_id, title, side, error.message, error.log or "", place)


def skips_of(order_id: str, title: str, names: Sequence[str], reasons: Mapping[int, str]) -> tuple[ComparisonSkip, ...]:
    """Return what is known of a skipped order: one record if every side skipped it, otherwise one per side."""
    if len(reasons) == len(names):
        return (ComparisonSkip(order_id, title, "", reasons[0]),)
    return tuple(
        ComparisonSkip(order_id, title, side_label(names, place), reason, place=place)
        for place, reason in reasons.items()
    )
