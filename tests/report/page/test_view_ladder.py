from __future__ import annotations

import dataclasses
import json
import math

import pytest

from photometer.analysis.ladder import Ladder
from photometer.instruments.ladder import LadderStep
from photometer.model.records import to_record
from photometer.report.page.overview_figures import ladder_figure, rung_note
from photometer.report.page.view_ladder import ladder_views, ladders_of_records
from photometer.report.page.view_report import report_view
from tests.report.page.fake_results import RUNGS, ladder_records, loaded

STEPS = (
    LadderStep("add", "Tensor", None, seconds=2e-6, instructions=8000),
    LadderStep("add", "Sub", "Tensor", 3e-6, 1e-6, (0.9e-6, 1.1e-6), 9000, 1000),
    LadderStep("add", "Other", "Tensor", 1.5e-6, -0.5e-6, (-0.6e-6, -0.4e-6), 7000, -1000),
    LadderStep("add", "Broken", "Sub"),
)


def test_each_rung_stands_on_the_one_it_names() -> None:
    [ladder] = ladder_views(Ladder(STEPS))
    assert [rung.name for rung in ladder.rungs] == ["Tensor", "Sub", "Other"]
    assert [rung.start_seconds for rung in ladder.rungs] == pytest.approx([0.0, 2e-6, 2e-6])
    assert [rung_note(rung) for rung in ladder.rungs] == [
        "2.00 µs",
        "+1.00 µs, +1,000 instr.",
        "-500 ns, -1,000 instr.",
    ]
    figure = ladder_figure(ladder, 1)
    assert [row.style for row in figure.rows] == ["base", "slower", "faster"]


def test_steps_are_read_from_records_too() -> None:
    records = [json.loads(json.dumps(to_record(step))) for step in STEPS]
    assert ladders_of_records(records) == ladder_views(Ladder(STEPS))
    half_known = dataclasses.replace(STEPS[1], added_interval_seconds=(1e-7, math.inf))
    [ladder] = ladders_of_records([json.loads(json.dumps(to_record(half_known)))])
    assert ladder.rungs[0].added_interval is None
    assert ladder_figure(ladder, 1).rows[0].low == ladder.rungs[0].seconds
    assert ladders_of_records([{"kind": "measurement"}]) == ()


def test_a_run_of_the_overrides_suite_alone_still_gives_ladders() -> None:
    view = report_view([loaded(ladder_records(), run={"suite": "overrides"})])
    assert [ladder.call for ladder in view.ladders] == ["torch.add", "x.sum()"]
    rungs = view.ladders[0].rungs
    assert [rung.name for rung in rungs] == [name for name, _, _ in RUNGS]
    assert rungs[1].added_seconds == pytest.approx(RUNGS[1][1] - RUNGS[0][1], rel=0.2)
    # Outside the allocator, which has a part of all in these records.
    assert rungs[1].added_instructions == pytest.approx(0.86 * (RUNGS[1][2] - RUNGS[0][2]))
    added, interval = rungs[1].added_seconds, rungs[1].added_interval
    assert added is not None
    assert interval is not None
    assert interval[0] < added < interval[1]
    assert report_view([loaded(ladder_records(), run={"suite": "standard"})]).ladders == ()
