"""What a results file keeps of a work order: its identity in every record, and failures.

Every record of a run has an "order" with its id, label and auto labels, by which `--resume` and comparisons find it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from photometer.execution.executor import Failure
from photometer.execution.steps import Step
from photometer.instruments.ready_order import task_spec_of
from photometer.model.records import to_record
from photometer.plan.work_order import WorkOrder


def identified(record: Mapping[str, Any], order: WorkOrder) -> dict[str, Any]:
    """Return the record with the order it belongs to."""
    about = {"id": order.id, "label": list(order.label), "auto": to_record(order.auto)}
    return {**record, "order": {**about, "tags": list(order.tags)} if order.tags else about}


def failure_record(order: WorkOrder, step: Step, failure: Failure, attempts: int) -> dict[str, Any]:
    """Return the record of an order that was given up: at which step, and after how many attempts."""
    fields = {name: getattr(failure, name) for name in ("type", "message", "log", "remedy", "exit_status")}
    record = {
        "kind": "failure",
        "step": step.name,
        "attempts": attempts,
        **{name: value for name, value in fields.items() if value},
        "task_spec": to_record(task_spec_of(order)),
    }
    return identified(record, order)
