"""Many sides at once without a process: verdicts against the reference, the steps, and what runs on some sides only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from photometer.analysis.comparison_reader import read_comparison
from photometer.analysis.comparison_result import ComparisonRow, EnvironmentComparison
from photometer.ci.acceptance import Acceptance
from photometer.comparing.environments import live_comparison
from photometer.comparing.request import ComparisonRequest, ComparisonSettings, matrix_sides
from photometer.comparing.source import CheckedPlan, Contest, contests_of
from photometer.definition import TimerArgs
from photometer.errors import DefinitionError, EnvironmentSpecError, ResultsFileError
from photometer.history.store import open_store
from photometer.model.machine import Environment
from photometer.model.results_reader import load_results
from photometer.report.matrix_text import render_matrix
from tests.session.fake_session import Behaviour, FakeServers

SUITE = {name: TimerArgs(name) for name in ("steady", "slow", "late", "new", "broken")}
BROKEN = {"broken": Behaviour(raises="ValueError: no")}
ONE = {**BROKEN, "new": Behaviour(raises="AttributeError: not yet")}
SLOW = {"slow": Behaviour(seconds_per_run=1.5e-6, instructions_per_run=1600)}
SIDES = {
    "one": BROKEN,
    "two": {**ONE, **SLOW},
    "three": {**BROKEN, **SLOW},
    "four": {**BROKEN, **SLOW, "late": Behaviour(seconds_per_run=0.8e-6, instructions_per_run=700)},
}


def request(settings: ComparisonSettings, **more: object) -> ComparisonRequest:
    sides = [Environment(name, name=name) for name in SIDES]
    return ComparisonRequest(sides, SUITE, settings, **more)  # type: ignore[arg-type]


def compared(servers: FakeServers, output: Path | None = None, **changes: object) -> EnvironmentComparison:
    settings = ComparisonSettings(budget_seconds=6.0, margin=0.01, **changes)  # type: ignore[arg-type]
    with live_comparison(request(settings, output=output), make_session=servers.session) as comparison:
        return comparison.run()


def words(row: ComparisonRow) -> list[str | None]:
    return [row.cells[side].verdict if side in row.cells else None for side in (1, 2, 3)]


def test_sides_are_judged_against_the_reference_and_the_step_is_found(servers: FakeServers, tmp_path: Path) -> None:
    comparison = compared(servers, tmp_path)
    assert comparison.names == ("one", "two", "three", "four")
    rows = {row.title: row for row in comparison.rows}
    assert words(rows["steady"]) == ["identical"] * 3
    assert words(rows["slow"]) == ["slower"] * 3
    assert words(rows["late"]) == ["identical", "identical", "faster"]
    # It became slower at the second side, and stayed so.
    assert [cell.side for cell in rows["slow"].changes] == [1]
    assert [(cell.side, cell.before) for cell in rows["late"].changes] == [(3, 2)]
    slow = rows["slow"].cells[3]
    assert slow.instructions is not None
    assert slow.instructions.difference_per_run == pytest.approx(600)
    # Each side has a cause and its memory, as with two sides.
    assert slow.cause
    assert slow.memory is not None
    # What one side cannot run is compared on the others, past the gap.
    assert words(rows["new"]) == [None, "identical", "identical"]
    assert "not yet" in rows["new"].failures[1].message
    assert [rows["new"].cells[side].before for side in (2, 3)] == [0, 2]
    assert 0 in rows["broken"].failures
    assert not rows["broken"].cells
    assert comparison.outcome == "slower"
    assert comparison.rows[0].title == "slow"
    assert all(server.closed for server in servers.made)
    # The file says the same.
    again = read_comparison(load_results(tmp_path / "comparison.json"))
    assert again is not None
    assert again.rows == comparison.rows
    assert again.names == comparison.names


def test_a_comparison_of_many_sides_is_resumed(servers: FakeServers, tmp_path: Path) -> None:
    settings = ComparisonSettings(budget_seconds=6.0, margin=0.01)
    with live_comparison(request(settings, output=tmp_path), make_session=servers.session) as comparison:
        checked = comparison.check()
        first = comparison.decide(checked)
    asked = request(settings, output=tmp_path, resume=True)
    with live_comparison(asked, make_session=servers.session) as comparison:
        checked = comparison.check()
        timing = [server for server in servers.made if not server.launch.wrapper]
        forks = sum(server.forks for server in timing)
        again = comparison.decide(checked)
        assert sum(server.forks for server in timing) == forks
    assert {key: each.verdict for key, each in again.verdicts.items()} == {
        key: each.verdict for key, each in first.verdicts.items()
    }


def test_a_store_keeps_each_side_as_a_comparison_with_the_reference(servers: FakeServers, tmp_path: Path) -> None:
    place = str(tmp_path / "history.db")
    with open_store(place, create=True):
        pass
    settings = ComparisonSettings(budget_seconds=6.0, margin=0.01)
    with live_comparison(request(settings, store=place), make_session=servers.session) as comparison:
        result = comparison.run()
    with open_store(place) as store:
        runs = store.runs()
        stored = store.comparisons()
    assert len(runs) == 3
    assert len(stored) == len(result.results)
    assert sum(each.verdict == "slower" for each in stored) == result.count("slower") == 3


def test_what_is_accepted_is_accepted_on_every_side(servers: FakeServers) -> None:
    settings = ComparisonSettings(budget_seconds=6.0, margin=0.01, instructions=False)
    asked = request(settings, accepted=(Acceptance("slow it is needed", "commit 1"),))
    with live_comparison(asked, make_session=servers.session) as comparison:
        result = comparison.run()
    assert {each.accepted for each in result if each.title == "slow"} == {"it is needed (commit 1)"}


def test_without_counts_everything_is_timed(servers: FakeServers) -> None:
    rows = {row.title: row for row in compared(servers, instructions=False).rows}
    assert set(words(rows["steady"])) == {"same"}
    assert [cell.side for cell in rows["slow"].changes] == [1]


def test_counts_alone(servers: FakeServers) -> None:
    comparison = compared(servers, time="none")
    rows = {row.title: row for row in comparison.rows}
    assert set(words(rows["steady"])) == {"identical"}
    assert set(words(rows["slow"])) == {"undecided"}
    # The empty loop of the fake takes as many instructions as a statement, so there is no share to tell.
    assert "0 % instructions" in render_matrix(comparison)
    assert comparison.measuring_seconds == 0.0


def test_one_side_is_too_few() -> None:
    with pytest.raises(DefinitionError, match="only one side"):
        ComparisonRequest(["current"], SUITE)


def test_a_file_whose_results_do_not_fit_its_sides_is_told(servers: FakeServers, tmp_path: Path) -> None:
    compared(servers, tmp_path, instructions=False)
    path = tmp_path / "comparison.json"
    text = path.read_text()
    path.write_text(re.sub(r'"names": ?\[[^]]*\]', '"names": ["one", "two"]', text, count=1))
    assert len(load_results(path).header["comparison"]["names"]) == 2
    with pytest.raises(ResultsFileError, match="do not match the sides"):
        read_comparison(load_results(path))


def test_contests_of_four_sides() -> None:
    assert contests_of(2) == [Contest(0, 1)]
    assert contests_of(4) == [Contest(0, 1), Contest(0, 2), Contest(0, 3), Contest(1, 2), Contest(2, 3)]
    ready = {"gap": dict.fromkeys((0, 1, 3)), "far": dict.fromkeys((0, 3))}
    plan = CheckedPlan((), ready)  # type: ignore[arg-type]
    assert plan.contest("gap", Contest(0, 2)) is None
    assert plan.contest("gap", Contest(2, 3)) == Contest(1, 3)
    assert plan.contest("far", Contest(2, 3)) is None


@pytest.mark.parametrize(
    ("texts", "common", "sides"),
    [
        (["torch==2.11.0,2.12.1"], None, ["pip:torch==2.11.0", "pip:torch==2.12.1"]),
        (
            ["torch==2.11.0, 2.12.1"],
            "python:3.12",
            ["python:3.12 + pip:torch==2.11.0", "python:3.12 + pip:torch==2.12.1"],
        ),
        (["python:3.11,3.12"], "pip:torch", ["pip:torch + python:3.11", "pip:torch + python:3.12"]),
        (["env:N=1,2"], None, ["env:N=1", "env:N=2"]),
        (["git:v1,v2,main"], None, ["git:v1", "git:v2", "git:main"]),
        (
            ["python:3.11,3.12", "torch==1,2"],
            None,
            [f"python:{p} + pip:torch=={t}" for p in ("3.11", "3.12") for t in ("1", "2")],
        ),
    ],
)
def test_values_of_a_matrix(texts: list[str], common: str | None, sides: list[str]) -> None:
    assert matrix_sides(texts, common) == sides


@pytest.mark.parametrize("text", ["torch==2.11.0", "torch", "a,b", "torch==,2", "OMP=1,2", ""])
def test_matrices_that_cannot_be(text: str) -> None:
    with pytest.raises(EnvironmentSpecError, match="--matrix"):
        matrix_sides([text])
