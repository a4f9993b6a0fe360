"""Cold caches: what is subtracted, too short, or remarked on; the far side with a fake loop and for real."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from photometer.definition import TimerArgs
from photometer.errors import MeasurementError
from photometer.history.points import points_of
from photometer.instruments.cold_caches import COLD_CACHES, ColdRuns, time_cold
from photometer.instruments.declaration import Asked, Beside
from photometer.instruments.ready_order import ReadyOrder
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec
from photometer.plan import materialize
from photometer.report.figures_text import instrument_tables
from photometer.report.tables.as_text import render_text
from photometer.session.session import Session
from photometer.worker import cold_runs
from photometer.worker.cold_runs import FEWEST_ROUNDS, UNKNOWN_CACHE_BYTES, TimeCold, last_cache_bytes
from photometer.worker.messages import decode_request, encode_request

ROUNDS = 20
LONG = ColdRuns(
    TaskSpec("f()", "pass"),
    cold=(21e-6,) * ROUNDS,
    warm=(5e-6,) * ROUNDS,
    empty_cold=(1e-6,) * ROUNDS,
    empty_warm=(1e-6,) * ROUNDS,
)
SHORT = dataclasses.replace(LONG, cold=(1.1e-6,) * ROUNDS, empty_cold=(0.9e-6, 1.3e-6) * (ROUNDS // 2))


def test_what_an_empty_block_takes_is_subtracted() -> None:
    assert (LONG.cold_seconds, LONG.warm_seconds) == pytest.approx((20e-6, 4e-6))
    assert LONG.ratio == pytest.approx(5.0)
    assert from_record(ColdRuns, to_record(LONG)) == LONG
    with pytest.raises(MeasurementError, match="at least one round"):
        dataclasses.replace(LONG, cold=())


def test_a_large_difference_is_remarked_on() -> None:
    assert "5 times as long with cold caches (20.0 µs, warm 4.00 µs)" in COLD_CACHES.remark(LONG)
    assert COLD_CACHES.remark(dataclasses.replace(LONG, cold=(5.2e-6,) * ROUNDS)) == ""


def test_what_is_too_short_for_a_single_run_has_no_figure() -> None:
    assert not SHORT.is_resolved
    assert "too short for single runs" in COLD_CACHES.remark(SHORT)
    assert [figure.of(SHORT) for figure in COLD_CACHES.figures] == [None, None, None]


def test_it_is_a_table_and_metrics_of_the_store() -> None:
    record = {**to_record(LONG), "order": {"id": "1", "label": ["add"]}}
    (table,) = instrument_tables([record])
    assert "20.0 µs" in render_text(table, 100)
    points = {point.metric.name: point for point in points_of(record)}
    assert points["cold_seconds"].value == pytest.approx(20e-6)
    assert not points["cold_seconds"].metric.is_exact


def test_nothing_runs_beside_it_and_accelerators_have_their_own() -> None:
    (order,) = materialize({"a": TimerArgs("pass")})
    assert COLD_CACHES.beside is Beside.NOTHING
    assert COLD_CACHES.applies(order, {})
    on_device = dataclasses.replace(order, auto=dataclasses.replace(order.auto, device="cuda"))
    assert not COLD_CACHES.applies(on_device, {})


def test_rounds_end_with_the_time_but_not_before_there_are_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_runs, "last_cache_bytes", lambda: 4096)
    asked: list[int] = []

    def run_block(number: int) -> float:
        asked.append(number)
        return float(number)

    found = TimeCold(rounds=100, seconds=0.0).perform(run_block)
    assert len(found.cold) == len(found.warm) == FEWEST_ROUNDS
    # After a first run, in each round: an empty block, a cold run, one that passes, a warm one, an empty block.
    assert asked == [1] + [0, 1, 1, 1, 0] * FEWEST_ROUNDS
    assert found.evicted_bytes == 2 * found.cache_bytes
    assert len(TimeCold(rounds=7, seconds=60.0).perform(run_block).cold) == 7


def test_the_largest_cache_is_read_from_the_system(tmp_path: Path) -> None:
    assert last_cache_bytes(str(tmp_path)) == UNKNOWN_CACHE_BYTES
    for name, size in ("index0", "48K"), ("index3", "32768K"), ("index4", "odd"):
        (tmp_path / "cpu0" / "cache" / name).mkdir(parents=True)
        (tmp_path / "cpu0" / "cache" / name / "size").write_text(f"{size}\n")
    assert last_cache_bytes(str(tmp_path)) == 32 << 20


def test_the_request_names_its_file_so_that_a_child_can_load_it() -> None:
    message = encode_request(TimeCold(3, 1.0), 5)
    assert message["home"] == "cold_runs"
    assert decode_request(message) == (TimeCold(3, 1.0), 5)


@pytest.mark.lengthy
def test_a_real_child_times_cold_and_warm_runs() -> None:
    (order,) = materialize({"sum": TimerArgs("y = x.sum()", "x = torch.ones(64 * 1024)")})
    with Session() as session:
        runs = time_cold(session, Asked(ReadyOrder(order)))
    assert len(runs.cold) == len(runs.warm) == len(runs.empty_cold) == len(runs.empty_warm) >= FEWEST_ROUNDS
    assert runs.evicted_bytes >= 2 * runs.cache_bytes > 0
