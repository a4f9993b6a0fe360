"""A whole comparison of two environments without a process: the sessions' servers are fakes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.analysis.verdict import Verdict
from photometer.comparing.comparison import LIMIT_REACHED, Findings
from photometer.comparing.decide import LOOK_SECONDS, Contests, RecordingSampler
from photometer.comparing.environment_source import EnvironmentSource
from photometer.comparing.environments import live_comparison
from photometer.comparing.fork_sampler import ForkSampler
from photometer.comparing.request import ComparisonRequest, ComparisonSettings
from photometer.comparing.source import Observer
from photometer.definition import GroupedStmts, TimerArgs
from photometer.errors import DefinitionError, ResultsFileError, WorkerStartError
from photometer.instruments.replicate import Replicate
from photometer.model.machine import Environment
from photometer.model.results_reader import load_results
from tests.session.fake_session import Behaviour, FakeServers

SUITE = {name: TimerArgs(name) for name in ("steady", "slow", "waits", "other", "broken")}
BASE = {"broken": Behaviour(raises="ValueError: no")}
BRANCH = {
    **BASE,
    "slow": Behaviour(seconds_per_run=1.5e-6, instructions_per_run=1600),
    # As many instructions, more time: what counts cannot see.
    "waits": Behaviour(seconds_per_run=1.5e-6),
    "other": Behaviour(instructions_per_run=1001),
}
SIDES = {"base": BASE, "branch": BRANCH}


def request(**changes: object) -> ComparisonRequest:
    settings = ComparisonSettings(budget_seconds=4.0, margin=0.01, layouts=3)
    fields: dict[str, object] = {"suite": SUITE, "settings": settings, **changes}
    return ComparisonRequest((Environment("base"), Environment("branch")), **fields)  # type: ignore[arg-type]


def test_what_changed_is_found_and_explained(servers: FakeServers, tmp_path: Path) -> None:
    with live_comparison(request(output=tmp_path), make_session=servers.session) as live:
        comparison = live.run()
    verdicts = {result.title: result for result in comparison}
    slow, steady = verdicts["slow"], verdicts["steady"]
    assert slow.verdict == "slower"
    assert slow.ratio == pytest.approx(1.5, rel=0.02)
    assert slow.instructions is not None
    assert slow.instructions.difference_per_run == pytest.approx(600)
    assert len(slow.layout_ratios) == 2
    assert steady.verdict == "identical"
    assert "executes the same instructions" in steady.judged.reason
    assert verdicts["waits"].verdict == "slower"
    assert "with the same instructions" in verdicts["waits"].cause
    assert verdicts["other"].verdict == "same"
    assert [failure.side for failure in comparison.failures] == ["base"]
    assert comparison.outcome == "slower"
    assert all(server.closed for server in servers.made)
    kinds = load_results(tmp_path / "comparison.json").kinds
    assert kinds["comparison"] == 4
    assert kinds["comparison_replicate"] > 8
    assert kinds["comparison_failure"] == 1


def test_a_resumed_comparison_measures_nothing_twice(servers: FakeServers, tmp_path: Path) -> None:
    with live_comparison(request(output=tmp_path), make_session=servers.session) as live:
        first = live.run()
    with live_comparison(request(output=tmp_path, resume=True), make_session=servers.session) as live:
        checked = live.check()
        timing = [server for server in servers.made if not server.launch.wrapper]
        forks = sum(server.forks for server in timing)
        again = live.decide(checked)
        assert sum(server.forks for server in timing) == forks
    judged = {verdict.verdict for verdict in again.verdicts.values()}
    assert judged == {result.verdict for result in first}


def test_everything_is_timed_if_asked_for_or_if_nothing_can_be_counted(servers: FakeServers) -> None:
    for changes in ({"time": "all"}, {"instructions": False}):
        settings = ComparisonSettings(budget_seconds=4.0, margin=0.01, **changes)
        suite = {"steady": TimerArgs("steady")}
        with live_comparison(request(settings=settings, suite=suite), make_session=servers.session) as live:
            assert [result.verdict for result in live.run()] == ["same"]


def test_what_executes_the_same_is_only_looked_at(servers: FakeServers, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[float | None] = []
    take = ForkSampler.take

    def recording(self: ForkSampler, benchmark: int, turn: int, seconds: float | None = None) -> Replicate:
        lengths.append(seconds)
        return take(self, benchmark, turn, seconds)

    monkeypatch.setattr(ForkSampler, "take", recording)
    with live_comparison(request(suite={"steady": TimerArgs("steady")}), make_session=servers.session) as live:
        checked = live.check()
        contests = Contests.of(checked, 2)
        sampler = RecordingSampler(live.sides, checked, contests, live.file, core=0)
        sampler.sample(0, 0)
        sampler.is_look = lambda _: True
        sampler.sample(0, 1)
    assert lengths == [None, LOOK_SECONDS]


def test_nothing_is_timed_if_counts_are_all_that_is_asked_for(servers: FakeServers) -> None:
    settings = ComparisonSettings(time="none")
    with live_comparison(request(settings=settings), make_session=servers.session) as live:
        verdicts = {result.title: result for result in live.run()}
    words = {"steady": "identical", "waits": "identical", "slow": "undecided", "other": "undecided"}
    assert {title: result.verdict for title, result in verdicts.items()} == words
    assert {result.judged.replicates for result in verdicts.values()} == {0}
    assert "executes different instructions" in verdicts["slow"].judged.reason
    with pytest.raises(DefinitionError, match="neither times nor instructions"):
        ComparisonSettings(time="none", instructions=False)


def test_a_limit_ends_the_comparison_with_what_is_known(servers: FakeServers) -> None:
    settings = ComparisonSettings(limit_seconds=1e-9, margin=0.01)
    with live_comparison(request(settings=settings), make_session=servers.session) as live:
        comparison = live.run()
    assert not comparison.results
    assert len(comparison.not_reached) == 5
    assert any("the time limit was reached" in warning for warning in comparison.warnings)


@pytest.mark.parametrize(("statement", "is_said"), [("steady", False), ("slow", True)])
def test_causes_are_missed_only_if_something_changed(
    statement: str, is_said: bool, servers: FakeServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = {statement: TimerArgs(statement)}
    with live_comparison(request(suite=suite), make_session=servers.session) as live:
        checked = live.check()
        found = Findings(checked, live.decide(checked))
        monkeypatch.setattr(live, "seconds_left", lambda: 0.0)
        assert (LIMIT_REACHED in live.explain(found).warnings) == is_said


def test_a_benchmark_and_a_tag_have_margins_of_their_own(servers: FakeServers) -> None:
    suite = {
        "slow": GroupedStmts("slow", margin=0.6),
        "waits": GroupedStmts("waits", tags="noisy"),
        "other": GroupedStmts("slow", tags="noisy", margin=0.01),
    }
    settings = ComparisonSettings(budget_seconds=6.0, margin=0.01, margin_by_tag={"noisy": 0.7}, time="all")
    with live_comparison(request(settings=settings, suite=suite), make_session=servers.session) as live:
        words = {result.title: result.verdict for result in live.run()}
    assert words == {"slow": "same", "waits": "same", "other": "slower"}


def test_verdicts_are_told_when_they_stand_and_the_table_before_its_causes(servers: FakeServers) -> None:
    observer = Listening()
    tables: list[EnvironmentComparison] = []
    with live_comparison(request(), observer, make_session=servers.session) as live:
        comparison = live.run(tables.append)
    assert sorted(observer.told) == ["identical steady", "same other", "slower slow", "slower waits"]
    assert {result.title: result.verdict for result in tables[0]} == {
        result.title: result.verdict for result in comparison
    }
    assert not any(result.cause for result in tables[0])
    assert {result.title for result in comparison if result.cause} >= {"slow", "waits"}


class Listening(Observer):
    def __init__(self) -> None:
        self.told: list[str] = []

    def decided(self, title: str, verdict: Verdict) -> None:
        self.told.append(f"{verdict.verdict} {title}")


def test_both_sides_have_the_same_surroundings(servers: FakeServers) -> None:
    with live_comparison(request(), make_session=servers.session) as live:
        live.run()
    for counting in (False, True):
        launches = [server.launch for server in servers.made if bool(server.launch.wrapper) is counting]
        assert {launch.python for launch in launches} == {"base", "branch"}
        frozen = [launch for launch in launches if dict(launch.variables)["PYTHONHASHSEED"] == "0"]
        assert len({launch.variables for launch in frozen}) == 1
        assert {launch.small_pages for launch in launches} == {True}


def test_a_side_that_does_not_start_is_an_error_and_leaves_nothing(servers: FakeServers) -> None:
    servers.fails["branch"] = WorkerStartError("no torch there")
    with pytest.raises(WorkerStartError), live_comparison(request(), make_session=servers.session) as live:
        live.run()
    assert all(server.closed for server in servers.made)


def test_a_server_that_dies_costs_its_benchmark_and_no_other(servers: FakeServers) -> None:
    suite = {"deadly": TimerArgs("deadly"), "steady": TimerArgs("steady")}
    dying = FakeServers({"base": {}, "branch": {"deadly": Behaviour(dies=True)}})
    with live_comparison(request(suite=suite), make_session=dying.session) as live:
        comparison = live.run()
    assert [failure.title for failure in comparison.failures] == ["deadly"]
    assert [result.verdict for result in comparison] == ["identical"]


def test_a_folder_that_another_comparison_writes_to_is_refused(servers: FakeServers, tmp_path: Path) -> None:
    asked = request(output=tmp_path, resume=True)
    with live_comparison(asked, make_session=servers.session) as first:
        with pytest.raises(ResultsFileError, match=f"process {os.getpid()}, since .* is writing its results here"):
            live_comparison(asked, make_session=servers.session).__enter__()
        assert len(list(first.run())) == 4
    with live_comparison(asked, make_session=servers.session):
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["comparison.json"]


def test_without_a_suite_nothing_can_be_compared() -> None:
    with pytest.raises(DefinitionError, match="--suite"):
        EnvironmentSource(request(suite=None))
