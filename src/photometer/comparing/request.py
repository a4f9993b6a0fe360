"""What a user asks to be compared, in the program's terms: a side as a spec, a suite as orders with their probes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from photometer.definition.loading import load_suite
from photometer.definition.suite import Suite
from photometer.environments.spec import EnvironmentSpec, parse_environment
from photometer.model.environment import Environment
from photometer.plan import WorkOrders, materialize, select
from photometer.plan.work_order import WorkOrder

SuiteLike = str | Suite | Mapping[Any, Any]
EnvironmentLike = str | Environment


def spec_of(environment: EnvironmentLike) -> EnvironmentSpec:
    if isinstance(environment, str):
        return parse_environment(environment)
    return EnvironmentSpec(
        environment.name or environment.python,
        python=environment.python,
        variables=environment.variables,
        path=environment.path,
    )


def plan_of(suite: SuiteLike, expression: str | None, tags: Collection[str]) -> tuple[WorkOrders, dict[str, WorkOrder]]:
    """The orders, and for those that have results to show the probe that writes them, by the order's id."""
    loaded = load_suite(suite) if isinstance(suite, str) else suite
    plan = select(materialize(loaded), expression, tags)
    measured = {order.id: order.args for order in plan}
    probes = {
        order.id: order
        for order in materialize(loaded, probe=True)
        if order.id in measured and order.args != measured[order.id]
    }
    return plan, probes
