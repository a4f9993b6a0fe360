from __future__ import annotations

import dataclasses
import pickle
import random

import pytest
import torch.utils.benchmark as torch_benchmark

from photometer.errors import MeasurementError
from photometer.model.diagnosis import Conditions, SuspicionKind
from photometer.model.measurement import Measurement
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec
from photometer.report.run_text import BLOCKS_NOTE, table_of_percentiles
from photometer.report.tables.as_text import render_text

SPEC = TaskSpec("x + y", "pass", label="L", sub_label="S", description="D", env="E", num_threads=2)


def noisy(count: int, spread: float = 0.02, seed: int = 0) -> list[float]:
    source = random.Random(seed)
    return [1e-4 * source.gauss(1, spread) for _ in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 10, 101])
def test_statistics_are_torchs(count: int) -> None:
    ours = Measurement(10, noisy(count), SPEC)
    theirs = torch_benchmark.Measurement(10, noisy(count), torch_benchmark.TaskSpec("x", "y"))
    assert ours.times == theirs.times
    for name in ("median", "mean", "iqr"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-9, abs=1e-18)
    assert ours.minimum == min(ours.times)


def test_meets_confidence_is_torchs() -> None:
    for spread in (0.01, 0.08, 0.3):
        ours = Measurement(1, noisy(50, spread), SPEC)
        theirs = torch_benchmark.Measurement(1, noisy(50, spread), torch_benchmark.TaskSpec("x", "y"))
        for threshold in (0.05, 0.1, 0.5):
            assert ours.meets_confidence(threshold) == theirs.meets_confidence(threshold)


def test_fields_of_the_task_are_the_measurements_own() -> None:
    m = Measurement(1, [1.0], SPEC)
    for field in dataclasses.fields(TaskSpec):
        assert getattr(m, field.name) == getattr(SPEC, field.name)
    assert m.title == "L: S"


@pytest.mark.parametrize(("spec", "name"), [(SPEC, "S"), (TaskSpec("a", "b"), "a"), (TaskSpec("", ""), "[Unknown]")])
def test_row_name(spec: TaskSpec, name: str) -> None:
    assert Measurement(1, [1.0], spec).as_row_name == name


def test_no_samples_is_an_error_that_names_the_measurement() -> None:
    empty = Measurement(1, [], SPEC)
    for name in (
        "median",
        "mean",
        "iqr",
        "interval_seconds",
        "minimum",
        "significant_figures",
        "warnings",
        "standard_deviation",
    ):
        with pytest.raises(MeasurementError, match=r"L: S.*no samples"):
            getattr(empty, name)
    assert "no samples" in repr(empty)


def test_number_per_run_must_be_positive() -> None:
    with pytest.raises(MeasurementError, match="number_per_run"):
        Measurement(0, [1.0], SPEC)


def test_fixed_but_for_metadata() -> None:
    m = Measurement(1, [1.0], SPEC)
    for name in ("raw_times", "number_per_run", "anything"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(m, name, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del m.raw_times
    m.metadata = {"mine": 1}
    assert m.metadata == {"mine": 1}


def test_the_callers_list_is_copied() -> None:
    times = [1.0, 2.0]
    m = Measurement(1, times, SPEC)
    times.append(3.0)
    assert m.raw_times == [1.0, 2.0]


def test_pickle_and_equality() -> None:
    m = Measurement(3, noisy(9), SPEC, {"a": 1}, Conditions(warmup_runs=1))
    _ = m.median
    assert pickle.loads(pickle.dumps(m)) == m
    assert Measurement(3, noisy(9), SPEC) != m


def test_more_samples_support_more_digits() -> None:
    digits = [Measurement(1, noisy(n), SPEC).significant_figures for n in (5, 100, 10_000)]
    assert digits == sorted(digits)
    assert digits[0] < digits[-1] <= 4


@pytest.mark.parametrize(
    ("median", "half_width", "digits"),
    [(1.46, 0.2, 2), (1.46, 2.0, 1), (1102, 3, 4), (9.9, 0.099, 2), (5.0, 0.03, 3), (5, 1e-9, 4)],
)
def test_digits_end_where_the_interval_begins(
    monkeypatch: pytest.MonkeyPatch, median: float, half_width: float, digits: int
) -> None:
    interval = (median - half_width, median + half_width)
    monkeypatch.setattr(Measurement, "interval_seconds", property(lambda _: interval))
    assert Measurement(1, [median] * 9, SPEC).significant_figures == digits


def test_interval_holds_the_median_and_is_never_negative() -> None:
    m = Measurement(1, [1.0, 1.0, 50.0], SPEC)
    low, high = m.interval_seconds
    assert 0 <= low <= m.median <= high
    assert m.confidence_interval(0.99)[1] >= high


def test_single_sample_has_an_endless_interval_and_a_warning() -> None:
    m = Measurement(1, [1.0], SPEC)
    assert m.interval_seconds == (0.0, float("inf"))
    assert [w.kind for w in m.warnings] == [SuspicionKind.TOO_FEW_RUNS]
    assert m.has_warnings


def test_times_of_zero_answer() -> None:
    m = Measurement(1, [0.0] * 30, SPEC)
    assert m.median == 0
    assert m.meets_confidence()
    assert "0" in repr(m)


def test_merge_joins_replicates_and_keeps_order() -> None:
    other = TaskSpec("z", "pass")
    merged = Measurement.merge(
        [Measurement(10, [1.0, 2.0], SPEC), Measurement(1, [5.0], other), Measurement(2, [6.0], SPEC)]
    )
    assert [m.task_spec for m in merged] == [SPEC, other]
    assert merged[0].raw_times == [0.1, 0.2, 3.0]
    assert merged[0].number_per_run == 1


def test_merging_one_alone_raises_no_new_suspicion() -> None:
    m = Measurement(1000, noisy(50), SPEC, conditions=Conditions(clock_resolution_seconds=1e-9))
    [merged] = Measurement.merge([m])
    assert {w.kind for w in m.warnings} == {w.kind for w in merged.warnings} == set()


def test_repr_has_what_a_person_wants_to_know() -> None:
    text = repr(Measurement(100, noisy(50), SPEC))
    for part in (
        "L: S",
        "D",
        "Median: 998.77 ns",
        "95 % CI",
        "IQR",
        "50 measurements, 100 runs per measurement, 2 threads",
    ):
        assert part in text
    assert "WARNING" in repr(Measurement(100, noisy(50, 0.4), SPEC))


def test_repr_shows_control_characters_instead_of_obeying_them() -> None:
    assert "\x1b" not in repr(Measurement(1, [1.0], TaskSpec("\x1b[31m", "pass")))


def test_json_round_trip() -> None:
    m = Measurement(3, noisy(9), SPEC, {"a": [1, None]}, Conditions(warmup_runs=1))
    assert from_record(Measurement, to_record(m)) == m


def test_several_visits_report_the_undisturbed_time_beside_the_typical_one() -> None:
    blocks = [1.0, 1.02, 1.01, 1.5, 1.6, 1.55, 1.01, 1.0, 1.03]
    m = Measurement(2, [2 * block for block in blocks], SPEC, visit_blocks=[3, 3, 3])
    assert m.visits == ((1.0, 1.02, 1.01), (1.5, 1.6, 1.55), (1.01, 1.0, 1.03))
    assert m.seconds == pytest.approx(1.002)
    assert m.median == pytest.approx(1.02)
    low, high = m.interval_seconds
    assert m.minimum <= low < m.seconds < high
    assert "Undisturbed" in repr(m)
    assert "3 visits" in repr(m)
    (merged,) = Measurement.merge([m])
    assert merged.seconds == pytest.approx(m.seconds)
    assert Measurement.merge([m, m])[0].visit_blocks == [3] * 6


def test_visits_that_disagree_are_doubtful_and_disturbed_blocks_are_not() -> None:
    steady = [1.0, 1.01, 3.0, 5.0, 1.02]
    assert not Measurement(1, steady * 8, SPEC, visit_blocks=[5] * 8).has_warnings
    apart = [block * factor for factor in (1.0, 1.3, 1.6, 1.9) for block in (1.0, 1.01)]
    (found,) = Measurement(1, apart, SPEC, visit_blocks=[2] * 4).warnings
    assert found.kind is SuspicionKind.WIDE_SPREAD
    (few,) = Measurement(1, [1.0] * 4, SPEC, visit_blocks=[2, 2]).warnings
    assert few.kind is SuspicionKind.TOO_FEW_RUNS


def test_visits_that_are_not_of_these_blocks_are_refused() -> None:
    with pytest.raises(MeasurementError, match="cannot be"):
        Measurement(1, [1.0] * 3, SPEC, visit_blocks=[2, 2])


COUNTING = TaskSpec("f()", "pass")
TIMES = [float(n) for n in range(1, 102)]


def test_percentiles_of_single_runs() -> None:
    m = Measurement(1, TIMES, COUNTING)
    assert [m.percentile(p) for p in (0, 50, 99, 100)] == [1.0, 51.0, 100.0, 101.0]
    assert m.percentiles_are_of == "runs"
    text = render_text(table_of_percentiles([m]), 120)
    assert "runs" in text
    assert BLOCKS_NOTE not in text


def test_percentiles_of_blocks_are_per_run_and_said_to_be_of_blocks() -> None:
    m = Measurement(10, TIMES, COUNTING)
    assert m.percentile(50) == pytest.approx(5.1)
    text = " ".join(render_text(table_of_percentiles([m]), 120).split())
    assert "blocks of 10 runs" in text
    assert BLOCKS_NOTE in text


@pytest.mark.parametrize("percent", [-1, 101, float("nan")])
def test_other_numbers_are_refused(percent: float) -> None:
    with pytest.raises(MeasurementError, match="is not a percentile"):
        Measurement(1, TIMES, COUNTING).percentile(percent)
