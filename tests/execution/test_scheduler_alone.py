"""A step beside which nothing may run: it comes after all else, on many cores too, and one at a time."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import pytest

from photometer.definition import TimerArgs
from photometer.execution import steps
from photometer.execution.run_settings import RunSettings
from photometer.execution.scheduler import run_plan
from photometer.execution.steps import COUNT, Step
from photometer.instruments.declaration import Beside
from photometer.instruments.registry import BY_NAME
from photometer.plan import materialize
from tests.execution.fake_executor import FACTS, FakeExecutor, step_of


@pytest.mark.parametrize("cores", [1, 2, 16])
def test_nothing_runs_beside_it(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: None)
    monkeypatch.setattr("photometer.execution.workplace.share_no_core", lambda cores: True)
    lonely = dataclasses.replace(BY_NAME["metrics"], beside=Beside.NOTHING, applies=lambda order, options: True)
    monkeypatch.setattr(steps, "BY_NAME", {**BY_NAME, "metrics": lonely})
    executor = FakeExecutor(seconds=0.002)
    records: list[Any] = []
    plan = materialize({str(number): TimerArgs("pass") for number in range(6)})
    chosen = RunSettings(options={"wall": False}, cores=tuple(range(cores)), repeats=1)
    run_plan(plan, chosen, executor, FACTS, records.append)
    taken = [step_of(work) for work in executor.works]
    assert taken.count(Step("metrics")) == taken.count(COUNT) == 6
    alone = [moment for moment in executor.together if any(step == Step("metrics") for step, _ in moment)]
    assert all(len(moment) == 1 for moment in alone)
