"""`photometer compare` of many sides: what two sides have, they have, too. The sides are made up; all else is real."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from photometer.ci.review import read_review
from photometer.cli import main
from photometer.comparing.environments import live_comparison
from photometer.history.store import open_store
from photometer.model.machine import Environment
from photometer.session.session import Session
from tests.session.fake_session import Behaviour, FakeServers

SUITE = "from photometer import TimerArgs\nBENCHMARKS = {'steady': TimerArgs('steady'), 'late': TimerArgs('late')}\n"
SIDES = ["env:SIDE=1", "env:SIDE=2", "env:SIDE=3"]
LATE = {"3": {"late": Behaviour(seconds_per_run=1.5e-6, instructions_per_run=1600)}}


class Ended(NamedTuple):
    status: int
    out: str
    err: str


class Command:
    """Runs `photometer compare` in this process, in a folder of its own."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, sides: list[str] = SIDES) -> Ended:
        with pytest.raises(SystemExit) as end:
            main(["compare", *sides, "--suite", "suite.py", "--margin", "1%", "--budget", "6", *arguments])
        said = self._capsys.readouterr()
        return Ended(int(end.value.code or 0), said.out, said.err)


def session(environment: Environment) -> Session:
    behaviours = LATE.get(dict(environment.variables).get("SIDE", ""), {})
    return FakeServers({environment.python: behaviours}).session(environment)


@pytest.fixture
def compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fake_processes: None
) -> Command:
    monkeypatch.chdir(tmp_path)
    Path("suite.py").write_text(SUITE)
    monkeypatch.setattr("photometer.cli.doctor.say_machine_line", lambda: None)
    monkeypatch.setattr(
        "photometer.comparing.environments.live_comparison", functools.partial(live_comparison, make_session=session)
    )
    return Command(capsys)


@pytest.mark.lengthy
def test_a_table_of_versions_and_where_it_changed(compare: Command) -> None:
    done = compare()
    assert done.status == 3, done.err
    assert done.out.startswith("Slower than 1: 3 in 1 of 2 benchmarks.")
    assert "late" in done.out
    assert "3 (+50 %)" in done.out
    # What has become known later is said with its side.
    assert "late on env:SIDE=3" in done.out
    assert compare("--fail-on", "slower:60%").status == 0
    done = compare("--fail-on", "slower:5%,instructions:1%")
    assert done.status == 3
    assert "late: env:SIDE=3: slower by 50 %, more than the 5 % allowed" in done.out


def test_json_says_of_each_result_which_side_it_is_about(compare: Command) -> None:
    document = json.loads(compare("--json").out)
    assert document["sides"] == SIDES
    found = {(each["title"], each.get("side", 1)): each["verdict"]["verdict"] for each in document["results"]}
    assert found == {
        **{("steady", 1): "identical", ("steady", 2): "identical"},
        **{("late", 1): "identical", ("late", 2): "slower"},
    }


@pytest.mark.lengthy
def test_everything_that_two_sides_can_write(compare: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    open_store("history.sqlite", create=True).close()
    Path("accepted.txt").write_text("steady it is known\n")
    options = ("-o", "out", "--store", "history.sqlite", "--junit", "junit.xml", "--gitlab-metrics", "metrics.txt")
    done = compare(*options, "--accepted", "accepted.txt", "--format", "github")
    assert done.status == 3, done.err
    out = tmp_path / "out"
    # The page of many sides, and no flame graphs or bundle, which have two.
    assert {path.name for path in out.iterdir()} >= {"comparison.json", "comparison.md", "report.html", "review.json"}
    assert "Slower than 1: 3 in 1 of 2 benchmarks." in (out / "comparison.md").read_text()
    assert "env:SIDE=3" in (out / "report.html").read_text()
    assert read_review(out).comparison.names == tuple(SIDES)
    (suite,) = ElementTree.fromstring(Path("junit.xml").read_text())
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["late on env:SIDE=3"]
    assert 'benchmark="late on env:SIDE=3"' in Path("metrics.txt").read_text()
    assert "Slower than 1" in (tmp_path / "summary.md").read_text()
    assert "::error title=late on env" in done.out
    with open_store("history.sqlite", read_only=True) as store:
        assert len(store.runs(kind="compare")) == 2
        assert sorted(each.verdict for each in store.comparisons()) == ["identical", "identical", "identical", "slower"]
    again = compare("-o", "out")
    assert again.status == 1
    assert "already exists" in again.err
    done = compare("-o", "out", "--resume")
    assert done.status == 3, done.err
    assert done.out.startswith("Slower than 1: 3 in 1 of 2 benchmarks.")


def test_what_is_accepted_does_not_fail(compare: Command) -> None:
    Path("photometer-accepted.txt").write_text("late it is needed\n")
    done = compare()
    assert done.status == 0, done.out
    assert done.out.startswith("Nothing is slower than 1 except what is accepted.")
    assert "accepted: it is needed" in done.out


def test_sides_by_their_values(compare: Command) -> None:
    done = compare("--matrix", "env:SIDE=1,2,3", "-k", "steady", sides=[])
    assert done.status == 0, done.err
    assert done.out.startswith("Nothing is slower than 1.")
