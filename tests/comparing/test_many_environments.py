"""Many sides at once without a process: verdicts against the reference, the steps, and what runs on some sides only."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.analysis.matrix_result import MatrixComparison, MatrixRow
from photometer.comparing.contests import BenchmarkSides, Contest, contests_of
from photometer.comparing.many_environments import ManySides, ManySidesRequest
from photometer.comparing.matrix_file import matrix_of, save_matrix
from photometer.comparing.matrix_sides import matrix_sides
from photometer.comparing.request import ComparisonSettings, plan_suite
from photometer.definition import TimerArgs
from photometer.errors import DefinitionError, EnvironmentSpecError, ResultsFileError
from photometer.model.environment import Environment
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


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    monkeypatch.setattr("photometer.session.session._callgrind", lambda counting: ("valgrind",))
    monkeypatch.setattr("photometer.instruments.noise_watch.LOOK_SECONDS", 0.01)
    # The fakes need no time: many short replicates are decided on a busy machine, too.
    monkeypatch.setattr("photometer.comparing.contests.REPLICATE_SECONDS", 0.01)
    return FakeServers(SIDES)


def compared(servers: FakeServers, **changes: object) -> MatrixComparison:
    settings = ComparisonSettings(budget_seconds=6.0, margin=0.01, **changes)  # type: ignore[arg-type]
    request = ManySidesRequest([Environment(name, name=name) for name in SIDES], plan_suite(SUITE, None, ()), settings)
    with ManySides(request, make_session=servers.session) as many:
        return many.run()


def test_sides_are_judged_against_the_reference_and_the_step_is_found(servers: FakeServers, tmp_path: Path) -> None:
    matrix = compared(servers)
    assert matrix.names == ("one", "two", "three", "four")
    rows: dict[str, MatrixRow] = {row.title: row for row in matrix.rows}
    assert [cell.verdict for cell in rows["steady"].cells] == ["identical"] * 3
    assert [cell.verdict for cell in rows["slow"].cells] == ["slower"] * 3
    assert [cell.verdict for cell in rows["late"].cells] == ["identical", "identical", "faster"]
    # It became slower at the second side, and stayed so.
    assert [cell.side for cell in rows["slow"].changes] == [1]
    assert [(cell.side, cell.before) for cell in rows["late"].changes] == [(3, 2)]
    assert rows["slow"].cells[2].instructions is not None
    assert rows["slow"].cells[2].instructions.difference_per_run == pytest.approx(600)
    # What one side cannot run is compared on the others, past the gap.
    assert [cell.verdict for cell in rows["new"].cells] == [None, "identical", "identical"]
    assert "not yet" in rows["new"].cells[0].failure
    assert [cell.before for cell in rows["new"].cells] == [0, 0, 2]
    assert rows["broken"].failure
    assert not rows["broken"].changes
    assert matrix.outcome == "slower"
    assert matrix.by_importance[0].title == "slow"
    assert all(server.closed for server in servers.made)
    # The file says the same.
    save_matrix(tmp_path / "matrix.json", matrix)
    again = matrix_of(load_results(tmp_path / "matrix.json"))
    assert again is not None
    assert again.rows == matrix.rows
    assert again.names == matrix.names


def test_without_counts_everything_is_timed(servers: FakeServers) -> None:
    matrix = compared(servers, instructions=False)
    rows = {row.title: row for row in matrix.rows}
    assert {cell.verdict for cell in rows["steady"].cells} == {"same"}
    assert [cell.side for cell in rows["slow"].changes] == [1]


def test_counts_alone(servers: FakeServers) -> None:
    matrix = compared(servers, time="none")
    rows = {row.title: row for row in matrix.rows}
    assert {cell.verdict for cell in rows["steady"].cells} == {"identical"}
    assert {cell.verdict for cell in rows["slow"].cells} == {"undecided"}
    # The empty loop of the fake takes as many instructions as a statement, so there is no share to tell.
    assert "0 % instructions" in render_matrix(matrix)
    assert matrix.measuring_seconds == 0.0


def test_one_side_is_too_few() -> None:
    with pytest.raises(DefinitionError, match="only one side"):
        ManySidesRequest(["current"], plan_suite(SUITE, None, ()))


def test_a_file_whose_rows_do_not_fit_is_told(servers: FakeServers, tmp_path: Path) -> None:
    import dataclasses

    matrix = compared(servers, instructions=False)
    save_matrix(tmp_path / "matrix.json", dataclasses.replace(matrix, names=matrix.names[:2]))
    with pytest.raises(ResultsFileError, match="do not match the sides"):
        matrix_of(load_results(tmp_path / "matrix.json"))


def test_contests_of_four_sides() -> None:
    assert contests_of(2) == [Contest(0, 1)]
    assert contests_of(4) == [Contest(0, 1), Contest(0, 2), Contest(0, 3), Contest(1, 2), Contest(2, 3)]
    gap = BenchmarkSides(dict.fromkeys((0, 1, 3)))  # type: ignore[arg-type]
    assert gap.contest(Contest(0, 2)) is None
    assert gap.contest(Contest(2, 3)) == Contest(1, 3)
    assert BenchmarkSides(dict.fromkeys((0, 3))).contest(Contest(2, 3)) is None  # type: ignore[arg-type]


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
