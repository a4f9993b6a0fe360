"""probe_plan: every order of a plan of probes run once, and the values that each left in its file.

In: a plan that was made with probe=True. Out: a ProbeOutcome for each order, in the order of the plan.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from photometer.execution.agenda import Step
from photometer.execution.executor import Executor
from photometer.execution.observer import RunObserver
from photometer.execution.run_plan import run_plan
from photometer.execution.run_settings import RunSettings
from photometer.plan.probe import PROBE_FOLDER, with_result_path
from photometer.plan.probe_outcome import ProbeOutcome
from photometer.plan.work_order import WorkOrders


def probe_plan(
    plan: WorkOrders,
    settings: RunSettings,
    executor: Executor,
    facts: Mapping[str, Any],
    observer: RunObserver | None = None,
) -> list[ProbeOutcome]:
    errors: dict[str, str] = {}

    def keep(record: dict[str, Any]) -> None:
        errors[record["order"]["id"]] = f"{record['step']} failed: {record['message']}"

    with tempfile.TemporaryDirectory(prefix="photometer-probes-") as folder:
        # A file for each order, by its bare name: it is part of the C++ text, which would else never be in the cache.
        orders = tuple(with_result_path(order, order.id) for order in plan)
        run_plan(
            dataclasses.replace(plan, orders=orders),
            settings,
            executor,
            facts,
            keep,
            steps=[Step.PROBE],
            include_paths=[str(PROBE_FOLDER)],
            import_paths=[str(PROBE_FOLDER)],
            probe_folder=folder,
            observer=observer,
        )
        return [ProbeOutcome(order, _values(Path(folder) / order.id), errors.get(order.id)) for order in plan]


def _values(path: Path) -> dict[str, Any] | None:
    """None where the order wrote nothing: TimerArgs of an author are run as they are."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
