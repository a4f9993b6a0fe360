"""Visits: in rounds, each in a layout of its own, with nothing beside them on a small machine, none lost by a kill."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from photometer.definition import TimerArgs
from photometer.execution.executor import Done, MeasureOrder, Work
from photometer.execution.rounds import VisitBook, layout_seed
from photometer.execution.run_file import open_run_file
from photometer.execution.run_settings import VISITS, RunSettings
from photometer.execution.scheduler import run_plan
from photometer.execution.steps import COUNT, TIME
from photometer.execution.visit_journal import JOURNAL_NAME, VisitJournal, kept_visits
from photometer.model.diagnosis import FEWEST_VISITS
from photometer.model.measurement import Measurement
from photometer.model.records import from_record
from photometer.model.visit import Visit
from photometer.plan import materialize
from tests.execution.fake_executor import FACTS, RECORDS, FakeExecutor, label_of, step_of

PLAN = materialize({str(i): TimerArgs(f"x = {i}") for i in range(6)})
VISIT = from_record(Visit, RECORDS[TIME])


@pytest.fixture(autouse=True)
def _many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: None)
    monkeypatch.setattr("photometer.execution.workplace.share_no_core", lambda cores: True)


def run(executor: FakeExecutor, cores: int = 2, **more: Any) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    run_plan(PLAN, RunSettings(cores=tuple(range(cores))), executor, FACTS, records.append, **more)
    return records


def visits_of(executor: FakeExecutor) -> list[MeasureOrder]:
    return [work for work in executor.works if isinstance(work, MeasureOrder) and work.step == TIME]


def test_every_round_visits_every_order_once_in_another_sequence() -> None:
    executor = FakeExecutor()
    run(executor)
    labels = executor.done(TIME)
    rounds = [tuple(labels[start : start + len(PLAN)]) for start in range(0, len(labels), len(PLAN))]
    assert len(rounds) == VISITS
    assert all(set(each) == {str(i) for i in range(6)} for each in rounds)
    assert len(set(rounds)) > 1


def test_a_measurement_has_the_blocks_of_all_visits() -> None:
    measured = [from_record(Measurement, r) for r in run(FakeExecutor()) if r["kind"] == "measurement"]
    assert len(measured) == len(PLAN)
    for each in measured:
        assert each.visit_blocks == [5] * VISITS
        assert len(each.raw_times) == 5 * VISITS


def test_layouts_differ_between_visits_and_not_between_runs() -> None:
    first, second = FakeExecutor(), FakeExecutor()
    run(first)
    run(second)
    seeds = [work.layout_seed for work in visits_of(first)]
    assert len(set(seeds)) == len(seeds)
    assert min(seeds) > 0
    assert set(seeds) == {work.layout_seed for work in visits_of(second)}
    assert layout_seed("a", 0) != layout_seed("a", 1)


def test_the_first_visit_settles_the_number_of_runs() -> None:
    executor = FakeExecutor(
        lambda work: Done({**RECORDS[TIME], "number_per_run": 7}) if step_of(work) == TIME else None
    )
    run(executor)
    for label in {label_of(work) for work in executor.works}:
        numbers = [work.runs_per_block for work in visits_of(executor) if label_of(work) == label]
        assert numbers == [0] + [7] * (VISITS - 1)


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_nothing_runs_beside_a_timing_on_a_small_machine(cores: int) -> None:
    executor = FakeExecutor(seconds=0.0005)
    run(executor, cores)
    assert all(len(moment) == 1 for moment in executor.together if TIME in {step for step, _ in moment})
    steps = [step_of(work) for work in executor.works]
    assert steps.index(COUNT) == steps.count(TIME)


def test_counts_run_beside_timings_if_there_are_cores_for_both() -> None:
    executor = FakeExecutor(seconds=0.002)
    run(executor, 8)
    assert any({TIME, COUNT} <= {step for step, _ in moment} for moment in executor.together)


def test_what_takes_long_is_visited_less_often() -> None:
    slow = {**RECORDS[TIME], "whole_seconds": 5.0}
    executor = FakeExecutor(lambda work: Done(slow) if step_of(work) == TIME and label_of(work) == "3" else None)
    run(executor)
    counted = Counter(executor.done(TIME))
    assert counted["3"] == FEWEST_VISITS
    assert counted["4"] == VISITS


class Killed(BaseException):
    pass


@pytest.mark.parametrize("visits", [1, 7, 20, 47])
def test_a_run_that_is_killed_between_rounds_loses_no_visit(tmp_path: Path, visits: int) -> None:
    settings = RunSettings(options={"instructions": False}, cores=(0, 1))
    seen: list[Work] = []

    def dies(work: Work) -> None:
        seen.append(work)
        if len(seen) > visits:
            raise Killed

    def begin(executor: FakeExecutor, *, resume: bool) -> list[Measurement]:
        file = open_run_file(tmp_path, PLAN, settings, FACTS, resume=resume)
        with kept_visits(file, settings.min_run_time) as book:
            run_plan(PLAN, settings, executor, FACTS, file.file.append, finished=file.finished, book=book)
        from photometer.model.results_reader import load_results

        return load_results(file.path).measurements

    with pytest.raises(Killed):
        begin(FakeExecutor(dies), resume=False)
    journal = tmp_path / JOURNAL_NAME
    assert len(journal.read_text().splitlines()) == visits
    # The kill may have come while a line was written.
    journal.write_bytes(journal.read_bytes() + b'{"run": "')
    rest = FakeExecutor()
    measured = begin(rest, resume=True)
    assert len(rest.works) == VISITS * len(PLAN) - visits
    assert [m.visit_blocks for m in measured] == [[5] * VISITS] * len(PLAN)
    assert not journal.exists()


def test_visits_of_another_run_and_nonsense_are_not_read(tmp_path: Path) -> None:
    VisitJournal(tmp_path, "other").add("a", VISIT)
    mine = VisitJournal(tmp_path, "mine")
    mine.add("b", VISIT)
    with mine.path.open("a") as file:
        file.write('nonsense\n{"run": "mine", "order": "c", "visit": {"kind": "visit", "number_per_run": -1}}\n[]\n')
    assert VisitJournal(tmp_path, "mine").read() == {"b": [VISIT]}
    assert VisitJournal(tmp_path, "mine").read(finished={"b"}) == {}


def test_later_visits_make_up_for_the_time_that_was_not_measured() -> None:
    book = VisitBook(0.2)
    assert book.next_visit("a").seconds == pytest.approx(0.2 / VISITS)
    book.add("a", Visit(1, (1.0,), whole_seconds=2.0))
    # Its share is used up; what is left is short, not empty.
    assert 0 < book.next_visit("a").seconds < 0.2 / VISITS
    book.add("b", Visit(1, (1e-3,), whole_seconds=3.0))
    assert book.next_visit("b").seconds == pytest.approx(0.199 / (FEWEST_VISITS - 1))
