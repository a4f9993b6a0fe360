from __future__ import annotations

from typing import Any

import pytest

from photometer.errors import ResultsFileError
from photometer.model.device_measurement import DeviceMeasurement, DeviceMode, KernelTime, MemoryUse, ModeName, Source
from photometer.model.measurement import Measurement
from photometer.model.packed_stacks import pack_stacks
from photometer.model.records import to_record
from photometer.model.task import TaskSpec
from photometer.report.page.view_run import run_views, thinned
from tests.report.page.fake_results import counts_of, run_records

SPEC = TaskSpec("f(x)", "pass", label="group", sub_label="case")


def test_time_and_instructions_of_one_benchmark_come_together() -> None:
    counts: dict[str, Any] = {**to_record(counts_of(SPEC, 5000)), "stacks": pack_stacks([(("a", "b"), 7)])}
    records = [to_record(Measurement(10, [1e-5, 1.1e-5, 1.2e-5], SPEC)), counts]
    [view] = run_views(records).benchmarks
    assert view.time is not None
    assert view.time.seconds == pytest.approx(1.1e-6)
    assert view.time.samples == pytest.approx((1e-6, 1.1e-6, 1.2e-6))
    assert dict(view.time.percentiles) == pytest.approx({50: 1.1e-6, 90: 1.18e-6, 95: 1.19e-6, 99: 1.198e-6})
    assert view.time.percentiles_of == "blocks of 10 runs"
    assert view.counts is not None
    assert (view.counts.total, view.counts.is_exact, view.counts.stacks) == (5000, True, ((("a", "b"), 7),))
    assert [warning.message for warning in view.warnings] == [
        "There is only 3 measurements: too few to know the spread."
    ]
    assert view.warnings[0].remedy


def test_a_failure_says_what_and_why_and_a_run_without_samples_is_a_warning() -> None:
    views = run_views(run_records())
    assert len(views.benchmarks) == 166
    assert len(views.failed) == 2
    assert "signal 11" in views.failed[0].reason
    assert "gdb" in views.failed[0].reason
    assert "Traceback" in views.failed[0].log
    [empty] = run_views([to_record(Measurement(1, [], SPEC))]).benchmarks
    assert empty.time is None
    assert "no samples" in empty.warnings[0].message
    [bare] = run_views([{"kind": "failure", "message": "out of memory"}]).failed
    assert (bare.title, bare.reason) == ("A benchmark", "out of memory")


def test_what_was_skipped_is_a_list_of_its_own() -> None:
    record = {"kind": "skipped", "step": "time", "reason": "needs AVX", "task_spec": to_record(SPEC)}
    views = run_views([to_record(Measurement(10, [1e-5] * 9, SPEC)), record])
    assert views.failed == ()
    assert [(each.title, each.reason) for each in views.skipped] == [("group › case [1 thread]", "needs AVX")]


def test_device_times_stand_beside_the_others() -> None:
    hot = DeviceMode(ModeName.DEVICE_HOT, (1e-6, 1.1e-6, 1.05e-6), 100, Source.EVENTS)
    cold = DeviceMode(ModeName.DEVICE_COLD, absent_because="not asked for")
    kernels = (KernelTime("add_kernel", 1.0, 9e-7),)
    measured = DeviceMeasurement(SPEC, "H200", "cuda", (hot, cold), "memory", kernels, MemoryUse(3000, 1000))
    [view] = run_views([to_record(measured)]).benchmarks
    assert view.device is not None
    assert [mode.median for mode in view.device.modes] == [pytest.approx(1.05e-6), None]
    assert view.device.modes[1].absent_because == "not asked for"
    assert view.device.added_bytes == 2000


def test_long_samples_are_thinned_over_their_whole_length() -> None:
    kept = thinned([float(i) for i in range(1001)], 100)
    assert len(kept) <= 100
    assert kept[0] == 0
    assert kept[-1] > 980
    assert thinned([1.0, 2.0], 100) == (1.0, 2.0)
    [view] = run_views([to_record(Measurement(1, [1e-6] * 5000, SPEC))], most_samples=50).benchmarks
    assert view.time is not None
    assert len(view.time.samples) <= 50
    assert view.time.blocks == 5000


def test_a_record_of_nonsense_is_an_error_that_says_so() -> None:
    with pytest.raises(ResultsFileError, match="raw_times"):
        run_views([{"kind": "measurement", "task_spec": {"stmt": "x"}, "number_per_run": 1, "raw_times": ["a"]}])


def test_a_count_that_failed_leaves_the_time_and_is_told_with_it() -> None:
    failed = {"kind": "failure", "step": "count", "message": "not finished within 120 s", "task_spec": to_record(SPEC)}
    views = run_views([to_record(Measurement(10, [1e-5] * 9, SPEC)), failed])
    [view] = views.benchmarks
    assert views.failed == ()
    assert view.time is not None
    assert "count: not finished within 120 s" in view.failures[0].reason
