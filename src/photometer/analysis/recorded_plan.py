"""The plan of a run as its results file has it: the orders that have records, in the order of the suite.

In: a results file. Out: WorkOrders without set-ups of scripted models: enough for tables and names, but not to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from photometer.definition.timer_args import TimerArgs
from photometer.errors import ResultsFileError
from photometer.model.records import from_record
from photometer.model.results_reader import Results
from photometer.model.task import TaskSpec
from photometer.plan.auto_labels import AutoLabels
from photometer.plan.work_order import WorkOrder, WorkOrders


def recorded_plan(results: Results) -> WorkOrders:
    """Return the orders of the records that have one and a task."""
    about = results.header.get("run")
    about = about if isinstance(about, Mapping) else {}
    found: dict[str, WorkOrder] = {}
    for record in results.records_by_suite:
        order = record.get("order")
        if (
            isinstance(order, Mapping)
            and str(order.get("id")) not in found
            and isinstance(record.get("task_spec"), dict)
        ):
            found[str(order["id"])] = _order(order, from_record(TaskSpec, record["task_spec"]))
    return WorkOrders(str(about.get("suite", "")), str(about.get("fingerprint", "")), tuple(found.values()))


def _order(order: Mapping[str, Any], spec: TaskSpec) -> WorkOrder:
    parts, tags = order.get("label"), order.get("tags", ())
    if not isinstance(order.get("auto"), Mapping) or not isinstance(parts, Sequence) or not isinstance(tags, Sequence):
        raise ResultsFileError(
            f"the order {order.get('id')!r:.60} is damaged: it has no labels",
            remedy="Read the file with --recover, or measure again.",
        )
    auto = from_record(AutoLabels, order["auto"])
    args = TimerArgs(spec.stmt, spec.setup, spec.global_setup, spec.num_threads, auto.language, check=False)
    label = tuple(str(part) for part in parts)
    return WorkOrder(str(order["id"]), label, auto, args, tuple(str(tag) for tag in tags))
