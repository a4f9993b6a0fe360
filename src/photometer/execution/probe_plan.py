"""probe_plan: run every order of a plan of probes once, and read the values that each left in its file.

In: a plan that was made with probe=True. Out: a ProbeOutcome per order, in the order of the plan.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from photometer.execution.agenda import Agenda, Job
from photometer.execution.executor import Executor, Work
from photometer.execution.observer import RunObserver
from photometer.execution.prepare import Preparation
from photometer.execution.run_settings import RunSettings
from photometer.execution.scheduler import run_agenda
from photometer.execution.steps import PROBE
from photometer.plan.probe import PROBE_FOLDER, ProbeOutcome, with_result_path
from photometer.plan.work_order import WorkOrders
from photometer.session.cores import usable_cores
from photometer.session.left_behind import private_folder
from photometer.worker.messages import TorchFacts


def probe_plan(
    plan: WorkOrders,
    settings: RunSettings,
    executor: Executor,
    facts: TorchFacts,
    observer: RunObserver | None = None,
) -> list[ProbeOutcome]:
    errors: dict[str, str] = {}

    def keep(record: dict[str, Any]) -> None:
        errors[record["order"]["id"]] = f"{record['step']} failed: {record['message']}"

    with private_folder("probes") as folder:
        # A file per order, by its bare name: it is part of the C++ text, which would else never be in the cache.
        named = dataclasses.replace(plan, orders=tuple(with_result_path(order, order.id) for order in plan))
        cores = usable_cores(settings.cores)
        preparation = Preparation(facts, include_paths=[str(PROBE_FOLDER)])

        def work_for(job: Job, cores: tuple[int, ...]) -> Work:
            assert job.order is not None
            return preparation.measuring(
                PROBE,
                job.order,
                min_run_time=settings.min_run_time,
                repeats=1,
                path=(str(PROBE_FOLDER),),
                folder=str(folder),
                cores=cores,
            )

        agenda = Agenda(named, [PROBE], cores=len(cores))
        run_agenda(agenda, executor, preparation, work_for, cores, keep, observer)
        return [ProbeOutcome(order, _values(folder / order.id), errors.get(order.id)) for order in plan]


def _values(path: Path) -> dict[str, Any] | None:
    """Return the values that an order wrote; None if it wrote none: an author's TimerArgs are run as they are."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
