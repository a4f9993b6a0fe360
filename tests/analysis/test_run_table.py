from __future__ import annotations

from pathlib import Path

import pytest

from photometer.analysis.run_table import recorded_plan
from photometer.definition import GroupedSetup, GroupedStmts
from photometer.errors import ResultsFileError
from photometer.execution.run_file import identified
from photometer.instruments.ready_order import task_spec_of
from photometer.model.measurement import Measurement
from photometer.model.records import to_record
from photometer.model.results_reader import Results
from photometer.plan import materialize

PLAN = materialize(
    {
        "add": GroupedStmts(
            "y = x + 1",
            "auto y = x + 1;",
            GroupedSetup("x = torch.ones(2)", "auto x = torch::ones({2});"),
            signature="f(x) -> y",
            num_threads=(1, 2),
        )
    }
)


def test_the_plan_is_read_from_its_records_in_the_order_of_the_suite() -> None:
    records = [
        identified(to_record(Measurement(1, [1e-6], task_spec_of(order))), order) for order in reversed(PLAN.orders)
    ]
    header = {"run": {"suite": "mine", "fingerprint": "f", "orders": [order.id for order in PLAN]}}
    read = recorded_plan(Results(Path("r.json"), header, tuple(records)))
    assert [(order.id, order.label, order.auto) for order in read] == [(o.id, o.label, o.auto) for o in PLAN]
    assert [order.args.stmt for order in read] == [order.args.stmt for order in PLAN]
    assert read.suite == "mine"


def test_a_file_without_orders_has_no_plan() -> None:
    assert len(recorded_plan(Results(Path("r.json"), {}, ({"kind": "measurement"},)))) == 0


@pytest.mark.parametrize("change", [{"auto": None}, {"label": True}, {"tags": 3}])
def test_an_order_without_its_labels_is_called_damaged(change: dict[str, object]) -> None:
    order = PLAN.orders[0]
    record = identified(to_record(Measurement(1, [1e-6], task_spec_of(order))), order)
    record["order"] = {**record["order"], **change}
    with pytest.raises(ResultsFileError, match="has no labels"):
        recorded_plan(Results(Path("r.json"), {}, (record,)))
