"""What a compared test is to pytest."""

from __future__ import annotations

import dataclasses

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult, EnvironmentComparison
from photometer.analysis.guards import ProbeResult
from photometer.errors import BenchmarkSkipped, WorkerCrashed
from photometer.pytest_plugin.compared_outcome import outcome_of
from photometer.pytest_plugin.paired import JudgedTest, why_skipped
from photometer.pytest_plugin.stop_messages import Ended
from photometer.pytest_plugin.stopping_session import NotReached
from tests.analysis.verdicts import verdict

NAMES = ("git:main (abc)", "git:WORKTREE (def)")
PASSED = (Ended("t", "passed"), Ended("t", "passed"))


def judged(word: str, ratio: float, cause: str = "", ended: tuple[Ended, Ended] = PASSED) -> JudgedTest:
    result = ComparisonResult("id", "t", verdict(word, ratio), cause)  # type: ignore[arg-type]
    return JudgedTest("t", EnvironmentComparison(NAMES, "tests", (result,)), ended=ended)


def test_what_is_slower_fails_with_its_cause() -> None:
    outcome = outcome_of(judged("slower", 1.05, "more instructions and slower: +120 instructions per run"), NAMES)
    assert outcome.word == "failed"
    assert outcome.text is not None
    assert outcome.text.startswith("slower by +5.0 %")
    assert "+120 instructions per run" in outcome.text
    assert NAMES[0] in outcome.text


def test_what_is_accepted_passes() -> None:
    slower = judged("slower", 1.05)
    (result,) = slower.comparison.results
    accepted = dataclasses.replace(result, accepted="the check is needed (commit 123)")
    comparison = dataclasses.replace(slower.comparison, results=(accepted,))
    assert outcome_of(dataclasses.replace(slower, comparison=comparison), NAMES).word == "passed"


def test_of_several_sides_each_that_is_slower_is_told() -> None:
    names = ("git:main", "git:one", "git:two", "git:three")
    results = [
        ComparisonResult("id", "t", verdict(word, ratio), side=side)  # type: ignore[arg-type]
        for side, (word, ratio) in enumerate((("same", 1.0), ("slower", 1.05), ("slower", 1.1)), start=1)
    ]
    ended = tuple(Ended("t", "passed") for _ in names)
    outcome = outcome_of(JudgedTest("t", EnvironmentComparison(names, "tests", tuple(results)), ended=ended), names)
    assert outcome.word == "failed"
    assert outcome.text is not None
    assert [name for name in names if name in outcome.text] == ["git:main", "git:two", "git:three"]


def test_everything_else_passes() -> None:
    for word in ("faster", "same", "identical", "undecided"):
        assert outcome_of(judged(word, 1.0), NAMES).word == "passed"


def test_an_assertion_that_fails_on_the_branch_fails_the_test() -> None:
    bad = (Ended("t", "passed"), Ended("t", "failed", "assert 1 == 2"))
    outcome = outcome_of(judged("identical", 1.0, ended=bad), NAMES)
    assert (outcome.word, "assert 1 == 2" in str(outcome.text)) == ("failed", True)


def test_an_assertion_that_fails_on_the_base_alone_is_the_base_s_business() -> None:
    bad = (Ended("t", "failed", "assert 1 == 2"), Ended("t", "passed"))
    assert outcome_of(judged("same", 1.0, ended=bad), NAMES).word == "passed"


def reached() -> ProbeResult:
    return ProbeResult()


def test_what_the_base_cannot_run_is_skipped() -> None:
    reason = why_skipped([NotReached(Ended("t", "failed", "call:\nE  NameError: new")), reached()])
    assert "the base cannot run it" in reason
    assert "NameError: new" in reason
    assert outcome_of(JudgedTest("t", EnvironmentComparison(NAMES, "tests", ()), reason), NAMES).word == "skipped"


def test_what_fails_on_the_branch_or_for_another_reason_is_not_skipped() -> None:
    failed = NotReached(Ended("t", "failed", "E"))
    assert why_skipped([failed, failed]) == ""
    assert why_skipped([reached(), failed]) == ""
    assert why_skipped([WorkerCrashed("the side's pytest ended"), reached()]) == ""
    failure = ComparisonFailure("id", "t", "branch", "the test failed", "E  NameError")
    outcome = outcome_of(JudgedTest("t", EnvironmentComparison(NAMES, "tests", (), (failure,))), NAMES)
    assert (outcome.word, outcome.text) == ("failed", "failed on the branch side: the test failed\nE  NameError")


def test_what_a_test_itself_skips_is_skipped_for_its_reason() -> None:
    skipped = NotReached(Ended("t", "skipped", "Skipped: no GPU"))
    assert why_skipped([skipped, skipped]) == why_skipped([reached(), skipped]) == "no GPU"
    inside = BenchmarkSkipped("no GPU either")
    assert why_skipped([inside, inside]) == why_skipped([reached(), inside]) == "no GPU either"


def test_escapes_in_reports_are_visible() -> None:
    bad = (Ended("t", "passed"), Ended("t", "failed", "\x1b[31mred"))
    assert "\x1b" not in str(outcome_of(judged("same", 1.0, ended=bad), NAMES).text)
