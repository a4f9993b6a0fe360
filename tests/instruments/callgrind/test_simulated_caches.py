"""Simulated caches: figures per run without the loop's, stacks of one figure, and Callgrind itself."""

from __future__ import annotations

import dataclasses

import pytest

from photometer.analysis.declared_figures import values_of
from photometer.definition import TimerArgs
from photometer.errors import MeasurementError
from photometer.history.points import points_of
from photometer.instruments.callgrind.parser import parse_text
from photometer.instruments.callgrind.simulated_caches import (
    EVENTS,
    GEOMETRY,
    SIMULATED_CACHES,
    CacheCounts,
    CacheEvents,
    count_caches,
    only_events,
    stacks_of_misses,
)
from photometer.instruments.declaration import Asked
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec
from photometer.plan import materialize
from photometer.report.figures_text import instrument_tables
from photometer.report.tables.as_text import render_text
from photometer.session.session import Session

TEXT = """# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 1
cmd: test
part: 1

events: Ir Bcm Bim D1mr

fn=(1) outer
1 100 1 2 3
cfn=(2) inner
calls=1 1
1 50 10 20 30
fn=(2) inner
1 50 10 20 30

summary: 150 11 22 33

totals: 150 11 22 33
"""
COUNTS = CacheCounts(
    TaskSpec("gather(x)", "pass"),
    100,
    (CacheEvents(5100, 300, 700), CacheEvents(5100, 300, 700)),
    CacheEvents(100, 0, 200),
)


def test_figures_are_per_run_and_without_the_empty_loop() -> None:
    found = {each.figure.name: each.value for each in values_of(COUNTS)}
    assert found == {"mispredicted_branches": 5.0, "first_level_misses": 50.0, "last_level_misses": 3.0}
    assert from_record(CacheCounts, to_record(COUNTS)) == COUNTS
    assert to_record(COUNTS)["geometry"] == list(GEOMETRY)


def test_repeats_that_differ_are_remarked_on_if_the_layout_does_not_explain_it() -> None:
    nearly = dataclasses.replace(COUNTS, repeats=(*COUNTS.repeats, CacheEvents(5200, 300, 700)))
    assert (SIMULATED_CACHES.remark(nearly), nearly.per_run("first_level_misses")) == ("", 50.0)
    far = dataclasses.replace(COUNTS, repeats=(*COUNTS.repeats, CacheEvents(95_100, 300, 700)))
    assert "repeats differ" in SIMULATED_CACHES.remark(far)
    assert far.range_of("first_level_misses") == (50.0, 950.0)
    with pytest.raises(MeasurementError, match="one repeat"):
        dataclasses.replace(COUNTS, repeats=())


def test_they_are_metrics_of_the_store_and_a_table() -> None:
    record = {**to_record(COUNTS), "order": {"id": "1", "label": ["gather"]}}
    points = {point.metric.name: point for point in points_of(record)}
    assert points["last_level_misses"].value == 3.0
    assert points["last_level_misses"].metric.is_exact
    (table,) = instrument_tables([record])
    assert [column.key for column in table.columns][1:] == list(points)
    assert "gather" in render_text(table, 100)


def test_a_figure_is_the_sum_of_its_events_in_every_function() -> None:
    profile = only_events(parse_text(TEXT, source="test"), EVENTS["mispredicted_branches"])
    assert profile.total() == 33
    assert [cost.costs for cost in profile.self_costs] == [(3,), (30,)]
    assert [call.costs for call in profile.calls] == [(30,)]


def asked(stmt: str, setup: str) -> Asked:
    (order,) = materialize({"a": TimerArgs(stmt, setup)})
    # As for what takes 10 ms: counted in 10 runs.
    return Asked(ReadyOrder(order), seconds_per_run=0.01)


@pytest.mark.valgrind
@pytest.mark.warm
def test_callgrind_sees_what_does_not_fit(session: Session) -> None:
    small = count_caches(session, asked("y = x.sum()", "x = torch.ones(1024)"))
    large = count_caches(session, asked("y = x.sum()", "x = torch.ones(4 * 1024 * 1024)"))
    lines = 16 * 1024 * 1024 / 64
    assert small.per_run("last_level_misses") < 100
    assert lines <= large.per_run("last_level_misses") < 1.05 * lines
    assert large.per_run("first_level_misses") >= large.per_run("last_level_misses")
    assert not small.repeats_differ
    assert not large.repeats_differ


@pytest.mark.valgrind
@pytest.mark.warm
def test_misses_are_found_in_the_users_function(session: Session) -> None:
    setup = "def gather(x):\n    return x.sum()\nx = torch.ones(1024 * 1024)"
    figure = next(each for each in SIMULATED_CACHES.figures if each.name == "first_level_misses")
    framed = stacks_of_misses(session, asked("y = gather(x)", setup), figure)
    below = sum(count for stack, count in framed.stacks if any(name.startswith("gather") for name in stack))
    assert below > 0.9 * sum(count for _, count in framed.stacks)
