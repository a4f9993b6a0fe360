"""Visits: in rounds, each in a layout of its own, with nothing beside them on a small machine, none lost by a kill."""

from __future__ import annotations

import dataclasses
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from photometer.definition import GroupedSetup, GroupedStmts, TimerArgs
from photometer.execution.executor import BuildSnippets, Done, MeasureOrder, Work
from photometer.execution.observer import NullObserver, RunState
from photometer.execution.rounds import VisitBook, groups_of, layout_seed, orders_per_group
from photometer.execution.run_file import kept_visits, open_run_file
from photometer.execution.run_settings import RunSettings
from photometer.execution.scheduler import run_plan
from photometer.execution.steps import BUILD, COUNT, TIME
from photometer.model.diagnosis import FEWEST_VISITS
from photometer.model.measurement import Measurement
from photometer.model.records import from_record
from photometer.model.results_reader import load_results
from photometer.model.task import Language
from photometer.model.visit import JOURNAL_NAME, Visit, with_unfinished
from photometer.plan import materialize
from photometer.stats.undisturbed import FEWEST_THAT_AGREE, MOST_VISITS, USUAL_VISITS
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
    assert len(rounds) == USUAL_VISITS
    assert all(set(each) == {str(i) for i in range(6)} for each in rounds)
    assert len(set(rounds)) > 1


def test_a_measurement_has_the_blocks_of_all_visits() -> None:
    measured = [from_record(Measurement, r) for r in run(FakeExecutor()) if r["kind"] == "measurement"]
    assert len(measured) == len(PLAN)
    for each in measured:
        assert each.visit_blocks == [5] * USUAL_VISITS
        assert len(each.raw_times) == 5 * USUAL_VISITS


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
        assert numbers == [0] + [7] * (USUAL_VISITS - 1)


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_nothing_runs_beside_a_timing_on_a_small_machine(cores: int) -> None:
    executor = FakeExecutor(seconds=0.0005)
    run(executor, cores)
    assert all(len(moment) == 1 for moment in executor.together if TIME in {step for step, _ in moment})
    steps = [step_of(work) for work in executor.works]
    assert steps.index(COUNT) == steps.count(TIME)


def test_counts_run_beside_timings_if_there_are_cores_for_both() -> None:
    executor = FakeExecutor(seconds=0.002, meet=(COUNT, TIME))
    run(executor, 8)
    assert any({TIME, COUNT} <= {step for step, _ in moment} for moment in executor.together)


def test_what_takes_long_is_visited_less_often() -> None:
    slow = {**RECORDS[TIME], "whole_seconds": 5.0}
    executor = FakeExecutor(lambda work: Done(slow) if step_of(work) == TIME and label_of(work) == "3" else None)
    run(executor)
    counted = Counter(executor.done(TIME))
    assert counted["3"] == FEWEST_VISITS
    assert counted["4"] == USUAL_VISITS


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
        with kept_visits(file, settings) as book:
            run_plan(PLAN, settings, executor, FACTS, file.file.append, finished=file.finished, book=book)
        return load_results(file.path).measurements

    with pytest.raises(Killed):
        begin(FakeExecutor(dies), resume=False)
    journal = tmp_path / JOURNAL_NAME
    assert len(journal.read_text().splitlines()) == visits
    # The kill may have come while a line was written.
    journal.write_bytes(journal.read_bytes() + b'{"run": "')
    rest = FakeExecutor()
    measured = begin(rest, resume=True)
    assert len(rest.works) == USUAL_VISITS * len(PLAN) - visits
    assert [m.visit_blocks for m in measured] == [[5] * USUAL_VISITS] * len(PLAN)
    assert not journal.exists()


def test_later_visits_make_up_for_the_time_that_was_not_measured() -> None:
    book = VisitBook(0.2)
    assert book.next_visit("a").seconds == pytest.approx(0.2 / USUAL_VISITS)
    a, b = list(PLAN)[:2]
    book.add(a, Visit(1, (1.0,), whole_seconds=2.0))
    # Its share is used up; what is left is short, not empty.
    assert 0 < book.next_visit(a.id).seconds < 0.2 / USUAL_VISITS
    book.add(b, Visit(1, (1e-3,), whole_seconds=3.0))
    assert book.next_visit(b.id).seconds == pytest.approx(0.199 / (FEWEST_VISITS - 1))


AGREEING = {**RECORDS[TIME], "block_seconds": [1e-6] * 5}
SCATTERING = {**RECORDS[TIME], "block_seconds": [1e-6, *[1.2e-6] * 4]}


@pytest.mark.parametrize(("record", "visits"), [(AGREEING, FEWEST_THAT_AGREE), (SCATTERING, MOST_VISITS)])
def test_visits_that_agree_are_fewer_and_what_scatters_gets_more(record: dict[str, Any], visits: int) -> None:
    executor = FakeExecutor(lambda work: Done(record) if step_of(work) == TIME else None)
    states: list[RunState] = []
    measured = [from_record(Measurement, r) for r in run(executor, observer=Watching(states)) if "raw_times" in r]
    assert Counter(executor.done(TIME)) == dict.fromkeys(map(str, range(6)), visits)
    assert [len(m.visits) for m in measured] == [visits] * 6
    for shown in [state.share_done for state in states], [state.finished for state in states]:
        assert shown == sorted(shown)
    assert (states[-1].share_done, states[-1].finished, states[-1].total) == (1.0, 6, 6)


@dataclasses.dataclass
class Watching(NullObserver):
    states: list[RunState]

    def progressed(self, state: RunState) -> None:
        self.states.append(state)


@pytest.mark.parametrize("cores", [2, 8])
def test_a_large_plan_is_timed_and_counted_group_by_group(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr("photometer.execution.scheduler.orders_per_group", lambda seconds, lanes: 2)
    executor = FakeExecutor()
    records = run(executor, cores)
    timed = executor.done(TIME)
    places = range(0, len(timed), 2 * USUAL_VISITS)
    assert [set(timed[place : place + 2 * USUAL_VISITS]) for place in places] == [{"0", "1"}, {"2", "3"}, {"4", "5"}]
    if cores == 2:
        kinds = [(record["kind"], record["order"]["label"][-1]) for record in records]
        assert sorted(kinds[:4]) == [(kind, name) for kind in ("instruction_counts", "measurement") for name in "01"]


def test_the_c_of_a_group_is_compiled_before_it_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.execution.scheduler.orders_per_group", lambda seconds, lanes: 2)
    plan = materialize({str(i): TimerArgs(f"int x = {i};", language=Language.CPP) for i in range(4)})
    executor = FakeExecutor()
    run_plan(plan, RunSettings(cores=(0, 1)), executor, FACTS, lambda record: None)
    builds = [place for place, work in enumerate(executor.works) if step_of(work) == BUILD]
    assert [len(work.snippets) for work in executor.works if isinstance(work, BuildSnippets)] == [2, 2]
    assert {label_of(work) for work in executor.works[builds[0] : builds[1]]} == {"", "0", "1"}
    assert {label_of(work) for work in executor.works[builds[1] :]} == {"", "2", "3"}


def test_variants_of_a_benchmark_are_in_one_group() -> None:
    several = GroupedStmts("y = x + 1", setup=GroupedSetup("x = torch.ones(2)"), num_threads=(1, 2, 3))
    orders = list(materialize({"a": several, "b": TimerArgs("pass"), "c": several}))
    assert list(groups_of(orders, 5).values()) == [0, 0, 0, 0, 1, 1, 1]
    assert list(groups_of(orders, 2).values()) == [0, 0, 1, 1, 2, 2, 3]


def test_a_group_has_the_standard_suite_and_is_larger_on_a_cluster() -> None:
    assert 168 <= orders_per_group(0.2, 1) <= 400
    assert orders_per_group(0.2, 50) >= 50 * 168
    assert orders_per_group(1e6, 1) == 1


def test_a_quick_pass_visits_once_and_a_later_run_continues_it(tmp_path: Path) -> None:
    quick = RunSettings(options={"instructions": False}, cores=(0, 1), quick=True)
    first, second = FakeExecutor(), FakeExecutor()
    for settings, executor in ((quick, first), (dataclasses.replace(quick, quick=False), second)):
        file = open_run_file(tmp_path, PLAN, settings, FACTS, resume=executor is second)
        with kept_visits(file, settings) as book:
            run_plan(PLAN, settings, executor, FACTS, file.file.append, finished=file.finished, book=book)
        if executor is first:
            assert load_results(file.path).records == ()
            shown = with_unfinished(load_results(file.path)).measurements
            assert [len(m.visits) for m in shown] == [1] * len(PLAN)
            assert {m.interval_seconds[1] for m in shown} == {math.inf}
    assert Counter(first.done(TIME)) == dict.fromkeys(map(str, range(6)), 1)
    assert Counter(second.done(TIME)) == dict.fromkeys(map(str, range(6)), USUAL_VISITS - 1)
    assert [len(m.visits) for m in load_results(file.path).measurements] == [USUAL_VISITS] * len(PLAN)
    assert not (tmp_path / JOURNAL_NAME).exists()


def test_the_journal_has_only_what_is_not_in_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.execution.scheduler.orders_per_group", lambda seconds, lanes: 2)
    settings = RunSettings(options={"instructions": False}, cores=(0, 1))
    lengths: list[int] = []

    def look(work: Work) -> None:
        journal = tmp_path / JOURNAL_NAME
        lengths.append(len(journal.read_text().splitlines()) if journal.exists() else 0)

    file = open_run_file(tmp_path, PLAN, settings, FACTS, resume=False)
    with kept_visits(file, settings) as book:
        run_plan(PLAN, settings, FakeExecutor(look), FACTS, file.file.append, book=book)
    assert max(lengths) == 2 * USUAL_VISITS
