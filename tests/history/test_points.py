"""Which metrics a record adds to curves, and that nonsense adds none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from photometer.history.contents import digest_of, pack, unpack
from photometer.history.points import compared_figures, points_of
from photometer.model.measurement import Measurement
from photometer.model.records import from_record
from tests.history.records import counts, times


def values(record: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    return {point.metric.name: (point.value, point.low, point.high) for point in points_of(record)}


def test_a_measurement_has_its_median_and_its_undisturbed_time() -> None:
    record = times("work", 1e-6)
    found = values(record)
    assert found["time"][0] == pytest.approx(from_record(Measurement, record).median)
    assert found["undisturbed_time"][0] < found["time"][0]
    assert all(low <= value <= high for value, low, high in found.values())


def test_counts_have_three_figures_without_the_loop_and_the_range_of_their_repeats() -> None:
    record = {**counts("work", [1_200, 1_300, 1_200]), "loop_baseline": {
        "total": 210, "outside_allocator": 200, "allocator_calls": 0}}  # fmt: skip
    assert values(record) == {
        "instructions": (10.0, 10.0, 11.0),
        "all_instructions": (10.0, 10.0, 11.0),
        "allocator_calls": (2.0, 2.0, 2.0),
    }


def test_memory_metrics_phases_energy_and_compilations() -> None:
    memory = {"kind": "memory", "repeats": [{"peak_bytes": 64, "allocated_bytes": 96, "allocations": 3}]}
    assert values(memory) == {
        "peak_memory": (64, 64, 64), "allocated_memory": (96, 96, 96), "allocations": (3, 3, 3)
    }  # fmt: skip
    assert values({"kind": "metrics", "metrics": [{"name": "loss", "values": [3.0, 1.0, 2.0]}]})["metric loss"][0] == 2
    assert values({"kind": "phases", "phases": [{"name": "forward", "seconds": [2.0]}]})["phase forward"][0] == 2
    assert values({"kind": "energy", "joules_per_run": 2.0, "resolution_joules": 0.5})["energy"] == (2.0, 1.5, 2.5)
    compiled = values({"kind": "compile_report", "graphs": 2, "compile_seconds": 1.5, "breaks": [{"count": 3}]})
    assert (compiled["compile_time"][0], compiled["graphs"][0], compiled["graph_breaks"][0]) == (1.5, 2, 3)


def test_device_modes_have_a_metric_each() -> None:
    modes = [{"name": "device hot", "seconds_per_run": [3e-6, 1e-6, 2e-6]}, {"name": "graph replay"}]
    record = {"kind": "device_measurement", "modes": modes, "memory": {"peak_bytes": 4096}}
    assert values(record)["device_hot"][0] == 2e-6
    assert set(values(record)) == {"device_hot", "device_peak_memory"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
records = st.fixed_dictionaries(
    {"kind": st.sampled_from(["measurement", "instruction_counts", "device_measurement", "memory", "metrics", "x"])},
    optional={
        name: json_values
        for name in ("raw_times", "number_per_run", "repeats", "modes", "metrics", "loop_baseline", "memory", "order")
    },
)


@given(records)
def test_whatever_a_record_holds_it_is_kept_exactly_and_has_finite_points(record: dict[str, Any]) -> None:
    assert unpack(pack(record)) == record
    assert digest_of(unpack(pack(record))) == digest_of(record)
    assert digest_of(dict(reversed(record.items()))) == digest_of(record)
    for point in points_of(record):
        assert all(abs(value) < float("inf") for value in (point.value, point.low, point.high))


def test_a_comparison_has_the_counts_and_the_memory_of_both_sides() -> None:
    figures = {"peak_bytes": 1, "allocated_bytes": 2, "allocations": 3}
    record = {
        "instructions": {
            "base_per_run": 10.5,
            "branch_per_run": 11.0,
            "base_allocator_calls_per_run": 1,
            "branch_allocator_calls_per_run": 2,
        },
        "memory": {"base": figures, "branch": {**figures, "peak_bytes": 9}, "device": "cuda"},
    }
    assert {(each.metric, each.base, each.branch) for each in compared_figures(record)} == {
        ("instructions", 10.5, 11.0),
        ("allocator_calls", 1.0, 2.0),
        ("device_peak_memory", 1.0, 9.0),
        ("device_allocated_memory", 2.0, 2.0),
        ("device_allocations", 3.0, 3.0),
    }


@pytest.mark.parametrize(
    "record", [{}, {"instructions": 3}, {"memory": {"base": 1}}, {"instructions": {"base_per_run": None}}]
)
def test_a_comparison_that_nobody_understands_has_no_figures(record: dict[str, object]) -> None:
    assert compared_figures(record) == ()
