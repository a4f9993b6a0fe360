"""What a results file keeps of a work order: the task spec of its measurements, its identity in every record, failures.

Every record of a run has an "order": id, label and auto labels. It is what `--resume` and comparisons go by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from photometer.execution.executor import Failure, Step
from photometer.model.records import to_record
from photometer.model.task import TaskSpec
from photometer.plan.work_order import WorkOrder

LABEL_SEPARATOR = " › "


def task_spec_of(order: WorkOrder) -> TaskSpec:
    """Return the order as `photometer show` places it: a table per first label, rows below it, a column per variant.

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
    """Return the record with the order it belongs to."""
    about = {"id": order.id, "label": list(order.label), "auto": to_record(order.auto)}
    return {**record, "order": {**about, "tags": list(order.tags)} if order.tags else about}


def failure_record(order: WorkOrder, step: Step, failure: Failure, attempts: int) -> dict[str, Any]:
    """Return why an order was given up: at which step, and after how many attempts."""
    fields = {name: getattr(failure, name) for name in ("type", "message", "log", "remedy", "exit_status")}
    record = {
        "kind": "failure",
        "step": step.value,
        "attempts": attempts,
        **{name: value for name, value in fields.items() if value},
        "task_spec": to_record(task_spec_of(order)),
    }
    return identified(record, order)
