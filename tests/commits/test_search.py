"""A search goes by exact figures if the ends differ in them, else by live comparison, and names what it found."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from photometer.analysis.verdict import VerdictWord
from photometer.commits import search
from photometer.commits.bisection import Outcome
from photometer.commits.range_run import CommitOutcome
from photometer.commits.search import FirstCommit, Nothing, SearchRequest, find_first, render_first
from photometer.comparing.request import ComparisonRequest
from photometer.errors import DefinitionError
from photometer.history.nouns import Commit
from photometer.model.results_file import ResultsFile
from tests.analysis.verdicts import verdict
from tests.history.project import Project
from tests.history.records import counts, failure


class Measured:
    """In place of measuring: what each commit's results say, by its place."""

    def __init__(self, project: Project, folder: Path, broken: frozenset[int], first: int) -> None:
        self.project, self.folder, self.broken, self.first = project, folder, broken, first
        self.asked: list[int] = []

    def __call__(self, lane: object, repository: object, commit: Commit, *rest: Any) -> CommitOutcome:
        place = self.project.shas.index(commit.sha)
        self.asked.append(place)
        path = self.folder / f"{place}.json"
        grown = place >= self.first
        functions = {"toy.c:work [/lib/toy.so]": 9_000 + 600 * grown, "toy.c:same [/lib/toy.so]": 1_000}
        record = failure("work") if place in self.broken else counts("work", 10_000 + 600 * grown, functions)
        ResultsFile.create(path, records=[record, counts("rest", 500)], overwrite=True)
        return CommitOutcome(commit, SimpleNamespace(results=path))  # type: ignore[arg-type]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path / "project")
    made.grow(12)
    monkeypatch.chdir(made.folder)
    return made


def find(
    project: Project, monkeypatch: pytest.MonkeyPatch, *, first: int, broken: frozenset[int] = frozenset(), **asked: Any
) -> FirstCommit:
    measured = Measured(project, project.folder.parent, broken, first)
    monkeypatch.setattr(search, "measure_commit", measured)
    found = find_first(SearchRequest(project.shas[0], "main", str(project.suite), **asked))
    assert len(measured.asked) == len(set(measured.asked)), "no commit is measured twice"
    return found


def test_the_commit_and_the_functions_are_found_by_counts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find(project, monkeypatch, first=7)
    assert found.commit is not None
    assert (found.commit.sha, found.metric) == (project.shas[7], "instructions")
    assert found.steps <= 4
    (change,) = found.changes
    assert (change.title, change.before, change.after) == ("toy › work", 100.0, 106.0)
    assert [(each.function, each.instructions_per_run) for each in change.functions] == [("work", 6.0)]
    text = render_first(found)
    assert text.startswith(f"{project.shas[7]} is the first commit that changed instructions\n  Ada, ")
    assert "+6.0 %  toy › work: 100 → 106\n           most in work (+6)" in text


def test_commits_that_do_not_run_are_gone_around_or_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find(project, monkeypatch, first=8, broken=frozenset({3, 6}))
    assert found.commit is not None
    assert found.commit.sha == project.shas[8]
    beside = find(project, monkeypatch, first=8, broken=frozenset({7, 8}))
    assert beside.commit is None
    assert [each.sha for each in beside.candidates] == project.shas[7:10]
    assert "one of 3 commits changed instructions" in render_first(beside)


def test_ends_that_cannot_be_measured_or_do_not_differ_are_told(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Nothing, match="are the same in all selected benchmarks"):
        find(project, monkeypatch, first=99, metric="instructions")
    with pytest.raises(DefinitionError, match="is not an ancestor"):
        find_first(SearchRequest("main", project.shas[0], str(project.suite)))


@pytest.mark.parametrize("metric", [None, "time"])
def test_what_counts_do_not_show_is_found_by_live_comparison_with_the_good_one(
    project: Project, monkeypatch: pytest.MonkeyPatch, metric: Any
) -> None:
    compared: list[tuple[str, str]] = []

    def compare(request: ComparisonRequest) -> Any:
        shas = [str(side).removeprefix("git:").partition("@")[0] for side in request.sides]
        compared.append((shas[0], shas[1]))
        place = project.shas.index(shas[1])
        word: VerdictWord = "slower" if place >= 5 else "same"
        # The same within more than the margin is not known to be the same.
        judged = verdict(word, 1.3, within=0.05 if place == 4 else None, reason="slower by 30 %")
        result = SimpleNamespace(title="toy › work", verdict=word, ratio=1.3, judged=judged)
        return SimpleNamespace(results=(result,), failures=())

    monkeypatch.setattr(search, "compare_requested", compare)
    found = find(project, monkeypatch, first=99, metric=metric)
    assert found.metric == "time"
    # The fourth stays open, so that it may be that one.
    assert [each.sha for each in found.candidates] == project.shas[4:6]
    assert {base for base, _ in compared} == {project.shas[0]}
    assert compared.count((project.shas[0], project.shas[4])) == 2
    assert "+30 %  toy › work: 1.000 µs → 1.300 µs\n           slower by 30 %" in render_first(found)


def test_outcomes_have_words() -> None:
    assert [outcome.value for outcome in Outcome] == ["same", "changed", "untestable"]
