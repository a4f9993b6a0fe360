from __future__ import annotations

from pathlib import Path

import pytest

from photometer.analysis.run_table import Doubt, doubts_of, judge_cautions, recorded_plan, tabulate_run
from photometer.definition import GroupedSetup, GroupedStmts
from photometer.errors import ResultsFileError
from photometer.execution.run_file import identified
from photometer.instruments.ready_order import task_spec_of
from photometer.model.measurement import Measurement
from photometer.model.records import to_record
from photometer.model.results_reader import Results
from photometer.model.task import TaskSpec
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


@pytest.mark.parametrize("change", [{"auto": None}, {"label": True}, {"tags": 3}, {"id": None}])
def test_an_order_without_its_id_or_labels_is_called_damaged(change: dict[str, object]) -> None:
    order = PLAN.orders[0]
    record = identified(to_record(Measurement(1, [1e-6], task_spec_of(order))), order)
    record["order"] = {**record["order"], **change}
    with pytest.raises(ResultsFileError, match="has no id or no labels"):
        recorded_plan(Results(Path("r.json"), {}, (record,)))


def test_a_skip_whose_order_has_no_id_has_a_row() -> None:
    order = {"label": ["alone"]}
    record = {"kind": "skipped", "order": order, "reason": "no such layout"}
    (skip,) = tabulate_run(Results(Path("r.json"), {}, (record,))).skips
    assert (skip.title, skip.reason) == ("alone [python]", "no such layout")


def wide(spread: float) -> tuple[Doubt, ...]:
    return (Doubt("wide-spread", f"It scatters by {spread:.0%}.", "Close what else runs.", spread),)


def test_nothing_is_said_of_good_times() -> None:
    cautions = judge_cautions({}, 100)
    assert not cautions.machine
    assert not cautions.marks


def test_a_few_rows_are_marked_and_the_machine_is_not_blamed() -> None:
    cautions = judge_cautions({"a": wide(0.2), "b": wide(0.3)}, 100)
    assert set(cautions.marks) == {"a", "b"}
    assert not cautions.machine


def test_what_most_rows_have_is_said_once_and_only_the_worst_are_marked() -> None:
    doubts = {f"row {i}": wide(0.2) for i in range(60)} | {"worst": wide(0.9)}
    cautions = judge_cautions(doubts, 168)
    assert set(cautions.marks) == {"worst"}
    assert cautions.machine.startswith("61 of 168 times are doubtful (wide-spread in 61). Close what else runs.")


def test_a_rare_reason_is_marked_also_on_a_noisy_machine() -> None:
    lazy = Doubt("may-do-nothing", "It may do nothing.", "Check the statement.", 0.2)
    doubts = {f"row {i}": wide(0.2) for i in range(60)} | {"lazy": (*wide(0.2), lazy)}
    assert judge_cautions(doubts, 168).marks == {"lazy": (lazy,)}


def test_doubts_of_a_measurement() -> None:
    spec = TaskSpec("x + 1")
    (doubt,) = doubts_of(Measurement(1, [1.0, 1.2, 1.4, 1.6, 1.8, 2.0], spec))
    assert doubt.kind == "wide-spread"
    assert 0.2 < doubt.spread < 0.5
    assert doubts_of(Measurement(1, [], spec)) == ()
