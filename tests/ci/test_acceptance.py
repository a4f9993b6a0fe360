"""What is accepted, by commits of the branch and by new lines of a file: with a reason, for the benchmark named."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.ci.acceptance import Acceptance, accept, find_acceptances
from photometer.environments.spec import parse_environment
from photometer.plan.selection import names_benchmark
from tests.analysis.verdicts import comparison, result
from tests.repositories import git


@pytest.mark.parametrize(
    ("pattern", "title", "is_named"),
    [
        ("rung/plain tensor", "rung › plain tensor", True),
        ("rung", "rung › plain tensor", True),
        ("rung › plain tensor", "rung › plain tensor [python, 2 threads]", True),
        ("add [2 threads]", "add [2 threads]", True),
        ("add [2 threads]", "add [1 thread]", False),
        ("ad*", "add [1 thread]", True),
        ("add", "adder", False),
        ("rung/pla", "rung › plain tensor", False),
    ],
)
def test_which_benchmark_is_meant(pattern: str, title: str, is_named: bool) -> None:
    assert names_benchmark(pattern, title) is is_named


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rung/plain tensor the check is needed", "the check is needed"),
        ("rung/plain tensor: the check is needed", "the check is needed"),
        ("'rung/plain tensor' - needed", "needed"),
        ("rung/* needed", "needed"),
        ("rung/plain tensor", ""),
        ("rung/other needed", None),
    ],
)
def test_name_and_reason(text: str, reason: str | None) -> None:
    assert Acceptance(text, "file").reason_for("rung › plain tensor") == reason


def test_what_is_accepted_is_no_longer_slower_and_the_rest_is_told() -> None:
    before = comparison(result("slower", 1.1, "add"), result("slower", 1.2, "mul"), result("slower", 1.2, "div"))
    texts = ("add needed", "mul", "sub needed")
    after = accept(before, [Acceptance(text, "commit abc") for text in texts])
    assert [each.accepted for each in after.results] == ["needed (commit abc)", "", ""]
    assert after.outcome == "slower"
    assert any("'mul' without a reason" in warning for warning in after.warnings)
    assert any("'sub needed', which is not a benchmark" in warning for warning in after.warnings)
    everything = accept(before, [Acceptance("* needed", "commit abc")])
    assert everything.outcome == "fine"
    assert "Nothing is slower except what is accepted. 3 slower (accepted" in str(everything)


def test_only_the_branch_itself_accepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    file = tmp_path / "photometer-accepted.txt"
    file.write_text("old known\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "base\n\nphotometer: accept base not this one")
    git(tmp_path, "checkout", "-qb", "work")
    git(tmp_path, "commit", "-qm", "more\n\nPhotometer: accept add needed", "--allow-empty")
    file.write_text("old known\n# a remark\nmul also needed\n")
    sides = (parse_environment("git:merge-base:main"), parse_environment("git:WORKTREE"))
    assert [each.text for each in find_acceptances(sides)] == ["add needed", "mul also needed"]
    # The file of a revision is the one in that revision.
    sides = (parse_environment("git:main"), parse_environment("git:work"))
    assert [each.text for each in find_acceptances(sides)] == ["add needed"]
    # Without revisions there is nothing to compare the file with.
    sides = (parse_environment("current"), parse_environment("current"))
    assert [each.text for each in find_acceptances(sides)] == ["old known", "mul also needed"]
