"""A source without environments, checkouts or processes: sides are sessions of fake servers, by their names.

The whole comparison then runs as it is: a test of a stage gives a suite and what each side's statements do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.comparing.request import ComparisonSettings, plan_suite
from photometer.comparing.source import CheckedPlan, Observer, StartedSide, comparison_header, failure_of
from photometer.errors import WorkerError
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.machine import Environment
from photometer.plan.work_order import WorkOrders, short_titles
from tests.session.fake_session import Behaviour, FakeServers


class FakeSource:
    """`behaviours` says by side and statement what happens; a statement that raises has failed the check there."""

    def __init__(self, suite: Mapping[str, Any], behaviours: Mapping[str, Mapping[str, Behaviour]]) -> None:
        self._plan = plan_suite(dict(suite), None, ()).plan
        self._behaviours = behaviours
        self.servers = FakeServers(behaviours)
        # Which of its counting servers were open when a test looked.
        self.left_open: list[bool] = []

    def plan(self) -> WorkOrders:
        return self._plan

    def titles(self) -> Mapping[str, str]:
        return short_titles(self._plan.orders)

    def header(self, sides: Sequence[StartedSide]) -> dict[str, Any]:
        return comparison_header(self._plan, sides, ComparisonSettings())

    def open(self, stack: contextlib.ExitStack, observer: Observer) -> tuple[StartedSide, ...]:
        return tuple(
            StartedSide(name, stack.enter_context(self.servers.session(Environment(name)))) for name in self._behaviours
        )

    def check(self, sides: Sequence[StartedSide], observer: Observer) -> CheckedPlan:
        names = [side.name for side in sides]
        ready: dict[str, dict[int, ReadyOrder]] = {}
        failures = []
        for order in self._plan:
            raised = [self._behaviours[name].get(order.args.stmt, Behaviour()).raises for name in names]
            ready[order.id] = {place: ReadyOrder(order) for place, text in enumerate(raised) if not text}
            failures += [
                failure_of(order.id, self.titles()[order.id], names, place, WorkerError(text))
                for place, text in enumerate(raised)
                if text
            ]
        runs = tuple(order for order in self._plan if 0 in ready[order.id] and len(ready[order.id]) > 1)
        return CheckedPlan(runs, {order.id: ready[order.id] for order in runs}, tuple(failures))
