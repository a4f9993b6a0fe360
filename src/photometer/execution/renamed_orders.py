"""Results of orders that have another name now: a suite whose labels were edited is continued, not begun anew.

In: the plan, and the records of a results file of the suite as it was. Out: the records that are still about an order
of the plan, under its present id, label and tags. An order is the same if its code is: statement, set-up, threads,
device, and how it runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.execution.order_record import identified, task_spec_of
from photometer.model.records import to_record
from photometer.plan.work_order import WorkOrder, WorkOrders

_CODE = ("stmt", "setup", "global_setup", "num_threads")


def renamed_records(records: Sequence[Mapping[str, Any]], plan: WorkOrders) -> list[dict[str, Any]]:
    """Return the records of the plan's orders; those of others are left out.

    Records without an order (peaks, ladder steps, speed-ups) name ids or pairs of the former plan, and are measured
    again. If two orders have the same code, their results are not told apart by it, and neither is kept.
    """
    codes = Counter(_code_of_order(order) for order in plan)
    by_code = {code: order for order in plan if codes[code := _code_of_order(order)] == 1}
    by_id = {order.id: order for order in plan}
    former = {}
    for record in records:
        order, spec = record.get("order"), record.get("task_spec")
        if isinstance(order, Mapping) and isinstance(spec, Mapping):
            former[str(order.get("id"))] = _code(spec, order.get("auto"))
    kept = []
    for record in records:
        order = record.get("order")
        identity = str(order.get("id")) if isinstance(order, Mapping) else ""
        now = by_id.get(identity) or by_code.get(former.get(identity, ""))
        if now is not None:
            kept.append(_renamed(record, now))
    return kept


def _renamed(record: Mapping[str, Any], order: WorkOrder) -> dict[str, Any]:
    named = identified(record, order)
    if isinstance(record.get("task_spec"), Mapping):
        named["task_spec"] = to_record(task_spec_of(order))
    return named


def _code_of_order(order: WorkOrder) -> str:
    return _code(to_record(task_spec_of(order)), to_record(order.auto))


def _code(spec: Mapping[str, Any], auto: object) -> str:
    """Return what makes an order what it is; what has its default is left out of records."""
    told = {name: value for name in _CODE if (value := spec.get(name)) not in (None, "", "pass", 1)}
    return json.dumps([told, auto], sort_keys=True, default=str)
