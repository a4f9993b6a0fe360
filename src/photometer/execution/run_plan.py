"""run_plan: a plan in, records out, one by one as they come into being. The parts of execution put together.

In: the plan, how to run it, who does the work, and what a former run has finished. Out: how many orders failed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from photometer.execution.agenda import Agenda, Step
from photometer.execution.executor import Executor
from photometer.execution.job_request import RequestMaker
from photometer.execution.observer import NobodyLooks, RunObserver
from photometer.execution.run_settings import RunSettings
from photometer.execution.scheduler import Scheduler
from photometer.plan.work_order import WorkOrders
from photometer.session.cores import CorePool, usable_cores


def run_plan(
    plan: WorkOrders,
    settings: RunSettings,
    executor: Executor,
    facts: Mapping[str, Any],
    on_record: Callable[[dict[str, Any]], object],
    *,
    finished: Collection[tuple[str, str]] = (),
    steps: Sequence[Step] | None = None,
    include_paths: Sequence[str] = (),
    import_paths: Sequence[str] = (),
    probe_folder: str = "",
    observer: RunObserver | None = None,
) -> int:
    """Run what is not finished. `facts` are the executor's answer to "describe"."""
    cores = usable_cores(settings.cores)
    steps = [Step(name) for name in settings.steps] if steps is None else steps
    agenda = Agenda(plan, steps, finished=finished, cores=len(cores))
    requests = RequestMaker(
        agenda,
        settings,
        facts,
        include_paths=include_paths,
        import_paths=import_paths,
        probe_folder=probe_folder,
    )
    scheduler = Scheduler(agenda, executor, requests, CorePool(cores), observer or NobodyLooks(), on_record)
    with on_core(cores[0]):
        scheduler.run()
    return scheduler.failed_orders


@contextmanager
def on_core(core: int) -> Iterator[None]:
    """Keep this thread, which draws the progress bar, off the cores that are timed: those are taken from the top."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
