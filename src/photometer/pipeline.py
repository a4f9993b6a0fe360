"""The picture of the program: a suite is defined, planned, executed and reported, one call after the other.

In comes what a user names, out comes a RunReport: where the results are, and the table of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from pathlib import Path

from photometer.analysis.check_results import CheckedBenchmark, check_results
from photometer.analysis.run_table import RunTable, tabulate_run
from photometer.definition import load_suite
from photometer.execution.describe import describe
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.observer import RunObserver
from photometer.execution.probe_plan import probe_plan
from photometer.execution.run_file import open_run_file
from photometer.execution.run_plan import run_plan
from photometer.execution.run_settings import RunSettings
from photometer.model.results_reader import load_results
from photometer.plan import materialize, select
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS, WorkOrders


@dataclasses.dataclass(frozen=True)
class RunReport:
    """What came of a run: the plan, the results file, the table of all that is in it."""

    plan: WorkOrders
    results: Path | None
    table: RunTable


def run_suite(
    suite: str,
    folder: Path,
    settings: RunSettings,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    resume: bool = False,
    observer: RunObserver | None = None,
) -> RunReport:
    """Measure a suite; every result is in `folder/results.json` the moment it is there."""
    defined = load_suite(suite)
    with LocalExecutor(settings.environment) as executor:
        facts = describe(executor)
        planned = materialize(defined, available_devices=facts["devices"], timeout_seconds=timeout_seconds)
        plan = select(planned, expression, tags)
        if not len(plan):
            return RunReport(plan, None, RunTable())
        file = open_run_file(folder, plan, settings, facts, resume=resume)
        run_plan(plan, settings, executor, facts, file.file.append, finished=file.finished, observer=observer)
    return RunReport(plan, file.path, tabulate_run(plan, load_results(file.path)))


def check_suite(
    suite: str,
    settings: RunSettings,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    observer: RunObserver | None = None,
) -> list[CheckedBenchmark]:
    """Run every variant once and compare what those of one benchmark computed."""
    defined = load_suite(suite)
    with LocalExecutor(settings.environment) as executor:
        facts = describe(executor)
        probes = materialize(defined, available_devices=facts["devices"], timeout_seconds=timeout_seconds, probe=True)
        plan = select(probes, expression, tags)
        return check_results(probe_plan(plan, settings, executor, facts, observer))
