"""A run stops beginning things when its budget is spent, and says that something was left out."""

from __future__ import annotations

import itertools
from typing import Any

from photometer.definition import TimerArgs
from photometer.execution.budget import Budget
from photometer.execution.run_settings import RunSettings
from photometer.execution.scheduler import run_plan
from photometer.execution.steps import TIME
from photometer.plan import materialize
from photometer.stats.undisturbed import USUAL_VISITS
from tests.execution.fake_executor import FACTS, FakeExecutor


def measured(budget: Budget) -> tuple[FakeExecutor, list[dict[str, Any]]]:
    """Run four benchmarks on one core, with an executor that runs nothing."""
    executor = FakeExecutor()
    records: list[dict[str, Any]] = []
    plan = materialize({str(i): TimerArgs("pass") for i in range(4)})
    settings = RunSettings(cores=(0,), options={"instructions": False})
    run_plan(plan, settings, executor, FACTS, records.append, budget=budget)
    return executor, records


def test_nothing_begins_after_the_budget() -> None:
    seconds = itertools.count()
    budget = Budget(10.0, clock=lambda: float(next(seconds)))
    executor, records = measured(budget)
    assert 0 < len(executor.done(TIME)) < 4 * USUAL_VISITS
    assert not records
    assert budget.cut_short


def test_without_a_budget_all_is_measured() -> None:
    for budget in (Budget(), Budget(1e6)):
        executor, records = measured(budget)
        assert len(executor.done(TIME)) == 4 * USUAL_VISITS
        assert len(records) == 4
        assert not budget.cut_short


def test_time_before_the_first_measurement_does_not_count() -> None:
    now = [0.0]
    budget = Budget(5.0, clock=lambda: now[0])
    now[0] = 100.0
    assert not budget.is_spent
    budget.begin()
    now[0] = 104.0
    budget.begin()
    assert not budget.is_spent
    now[0] = 105.0
    assert budget.is_spent
