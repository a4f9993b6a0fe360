"""What a results file keeps of a work order: the task spec of its measurements, its identity in every record, failures.

Every record of a run has an "order": id, label and auto labels. It is what `--resume` and comparisons go by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from photometer.model.task import TaskSpec
from photometer.plan.work_order import WorkOrder

LABEL_SEPARATOR = " › "


def task_spec_of(order: WorkOrder) -> TaskSpec:
    """The order as `photometer show` places it: a table for the first label, rows below it, a column a variant.

    The set-up has the placeholder of a scripted model, not its path: it is the same on every machine.
    """
    auto = order.auto.as_dict()
    words = [str(auto[name]) for name in ("language", "runtime", "autograd")]
    words += [str(auto["device"])] if auto["device"] != "cpu" else []
    words += [f"{name}={value}" for name, value in order.auto.sizes]
    return TaskSpec(
        stmt=order.args.stmt,
        setup=order.args.setup,
        global_setup=order.args.global_setup,
        label=order.label[0] if order.label else None,
        sub_label=LABEL_SEPARATOR.join(order.label[1:]) or None,
        description=" ".join(words),
        num_threads=order.args.num_threads,
    )


def identified(record: Mapping[str, Any], order: WorkOrder) -> dict[str, Any]:
    """The record with the order it belongs to."""
    return {**record, "order": {"id": order.id, "label": list(order.label), "auto": order.auto.to_json()}}


def failure_record(order: WorkOrder, step: str, error: Mapping[str, Any], attempts: int) -> dict[str, Any]:
    """Why an order was given up: at which step, and after how many attempts."""
    record = {
        "kind": "failure",
        "step": step,
        "attempts": attempts,
        **{name: error[name] for name in ("type", "message", "log", "remedy", "exit_status") if error.get(name)},
        "task_spec": task_spec_of(order).to_json(),
    }
    return identified(record, order)
