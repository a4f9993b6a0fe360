"""Timelines: what torch's profiler saw of one run, in lanes and as a trace; here on the host."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from photometer.definition import GroupedSetup, GroupedStmts
from photometer.instruments.ready_order import ReadyOrder
from photometer.instruments.timeline import Timeline, TimelineEvent, record_timeline, timeline_of, trace_text
from photometer.plan import materialize
from photometer.report.tables.as_text import render_text
from photometer.report.timeline_page import render_timeline_page, table_of_work
from photometer.session.session import Session
from photometer.worker.timeline import RUN, event_lane

STREAM = "cuda:0 7"


def made(*kernels: tuple[str, int, int]) -> Timeline:
    """A run of 100 ns that launches kernels."""
    host = [
        TimelineEvent("before", "cpu 1", 900, 5),
        TimelineEvent(RUN, "cpu 1", 1000, 100),
        TimelineEvent("aten::mm", "cpu 1", 1010, 50),
        TimelineEvent("cudaLaunchKernel", "cpu 1", 1020, 10),
    ]
    return timeline_of([*host, *(TimelineEvent(name, STREAM, start, length) for name, start, length in kernels)])


def test_events_begin_with_the_run_and_know_what_they_lie_inside() -> None:
    timeline = made(("gemm", 1030, 200))
    assert [(event.name, event.start, event.depth) for event in timeline.events] == [
        (RUN, 0, 0),
        ("aten::mm", 10, 1),
        ("cudaLaunchKernel", 20, 2),
        ("gemm", 30, 0),
    ]
    assert timeline.lanes == ("cpu 1", STREAM)
    assert timeline.length == 230


def test_kernels_are_what_took_the_time_and_without_any_the_operations_of_the_host() -> None:
    with_kernels = made(("gemm", 1030, 200), ("relu", 1300, 20), ("gemm", 1400, 100))
    assert [(each.name, each.calls, each.own) for each in with_kernels.work()] == [("gemm", 2, 300), ("relu", 1, 20)]
    assert [(each.name, each.own) for each in made().work()] == [("aten::mm", 40), ("cudaLaunchKernel", 10)]


def test_the_base_stands_beside_the_branch_and_names_are_escaped() -> None:
    sides = [("base", made(("<b>gemm", 1030, 200))), ("branch", made(("<b>gemm", 1030, 300), ("copy", 1400, 10)))]
    table = render_text(table_of_work(sides), 100)
    assert [line.split() for line in table.splitlines()[1:]] == [
        ["<b>gemm", "1", "200", "ns", "1", "300", "ns"],
        ["copy", "1", "10.0", "ns"],
    ]
    page = render_timeline_page("a <title>", sides, "trace-x.json")
    assert "&lt;b&gt;gemm" in page
    assert "<b>gemm" not in page
    assert "a <title>" not in page
    assert 'href="trace-x.json"' in page


def test_the_trace_has_a_process_per_side_and_a_thread_per_lane() -> None:
    rows = json.loads(trace_text([("base", made(("gemm", 1030, 200))), ("branch", made())]))["traceEvents"]
    named = {(row["pid"], row["tid"]): row["args"]["name"] for row in rows if row["ph"] == "M"}
    assert named == {(1, 0): "base", (1, 1): "cpu 1", (1, 2): STREAM, (2, 0): "branch", (2, 1): "cpu 1"}
    (kernel,) = [row for row in rows if row["name"] == "gemm"]
    assert (kernel["pid"], kernel["tid"], kernel["ts"], kernel["dur"]) == (1, 2, 0.03, 0.2)


@pytest.mark.parametrize(
    ("device", "lane"),
    [("DeviceType.CPU", "cpu 5"), ("DeviceType.CUDA", "cuda:1 7"), ("DeviceType.PrivateUse1", "privateuse1:1 7")],
)
def test_a_lane_is_a_thread_or_a_stream_of_a_device(device: str, lane: str) -> None:
    event = SimpleNamespace(
        device_type=lambda: device, start_thread_id=lambda: 5, device_index=lambda: 1, device_resource_id=lambda: 7
    )
    assert event_lane(event) == lane


@pytest.mark.lengthy
@pytest.mark.warm
def test_one_run_is_watched(session: Session) -> None:
    plan = materialize({"mm": GroupedStmts("y = (x @ x).relu()", setup=GroupedSetup("x = torch.rand(8, 8)"))})
    timeline = record_timeline(session, ReadyOrder(plan[0]))
    calls = {each.name: each.calls for each in timeline.work()}
    # Of one run, not of those before it.
    assert (calls["aten::mm"], calls["aten::relu"]) == (1, 1)
    assert not timeline.has_kernels
    assert timeline.events[0].name == RUN
