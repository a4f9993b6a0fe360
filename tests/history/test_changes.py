"""Every step of a count is a change with its functions and commits; a step in time is told apart by its counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.history.changes import Cause, changed_functions, changes_in, find_all
from photometer.history.nouns import Benchmark, StoredComparison
from photometer.history.recorder import origin_of
from photometer.history.store import Store, open_store
from photometer.history.text import render_change
from tests.history.records import comparison, comparison_header, counts, header, origin, sha, times


@pytest.fixture
def own(tmp_path: Path) -> Store:
    return open_store(tmp_path / "history.sqlite", create=True)


def add_counts(
    store: Store, values: dict[int, int | list[int]], functions: dict[int, dict[str, int]] | None = None
) -> None:
    for number, value in values.items():
        store.add_run(header(f"run-{number}"), [counts("work", value, (functions or {}).get(number))], origin(number))


def test_every_step_of_a_count_is_a_change_however_small(own: Store) -> None:
    add_counts(own, {0: 10_000, 1: 10_000, 2: 10_001, 3: 10_001, 4: 9_000})
    newest, first = changes_in(own)
    assert (first.before, first.after, first.p, first.cause) == (100.0, 100.01, None, Cause.CODE)
    assert first.is_one_commit
    assert first.first.commit.sha == sha(2)
    assert newest.first.commit.sha == sha(4)
    assert newest.relative == pytest.approx(90 / 100.01 - 1)


def test_repeats_that_differ_are_not_a_step_unless_they_are_apart(own: Store) -> None:
    add_counts(own, {0: [10_000, 10_020], 1: [10_010, 10_030], 2: [10_031, 10_040]})
    (change,) = changes_in(own)
    assert change.first.commit.sha == sha(2)


def test_runs_of_one_commit_that_differ_are_no_step(own: Store) -> None:
    add_counts(own, {0: 10_000, 1: 10_020})
    own.add_run(header("again"), [counts("work", 10_020)], origin(0))
    assert changes_in(own) == []


def test_commits_that_are_not_measured_are_named_as_an_interval(own: Store) -> None:
    add_counts(own, {0: 10_000, 4: 12_000})
    curves = list(own.all_curves())
    (change,) = find_all(curves, between=lambda old, new: (sha(1), sha(2), sha(3)), compared={})
    assert not change.is_one_commit
    assert "one of 4 commits after 0000000000 up to 0000000000 commit 4" in render_change(change)
    (unknown,) = find_all(curves, between=lambda old, new: None, compared={})
    assert "between 0000000000 commit 0 (Ada) and 0000000000 commit 4 (Ada)" in render_change(unknown)


def test_the_functions_of_a_change_are_told(own: Store) -> None:
    before = {"a.c:same [/lib/a.so]": 5_000, "a.c:grew [/lib/a.so]": 5_000}
    after = {"a.c:same [/lib/a.so]": 5_000, "a.c:grew [/lib/a.so]": 6_000, "a.c:new [/lib/a.so]": 300}
    add_counts(own, {0: 10_000, 1: 11_300}, {0: before, 1: after})
    (change,) = changes_in(own)
    functions = changed_functions(own, change)
    assert [(each.function, each.instructions_per_run) for each in functions] == [("grew", 10.0), ("new", 3.0)]
    assert "most in grew (+10), new (+3)" in render_change(change, functions)


def add_times(store: Store, *, step: float, counted: bool, counts_step: bool, commits: int = 24) -> None:
    for number in range(commits):
        late = number >= commits // 2
        records = [times("work", 1e-6 * (step if late else 1.0), seed=number)]
        if counted:
            records.append(counts("work", 12_000 if late and counts_step else 10_000))
        store.add_run(header(f"run-{number}"), records, origin(number))


@pytest.mark.parametrize(
    ("counted", "counts_step", "cause"),
    [(True, True, Cause.CODE), (True, False, Cause.MACHINE), (False, False, Cause.OPEN)],
)
def test_a_step_in_time_is_the_codes_if_its_counts_step_too(
    own: Store, counted: bool, counts_step: bool, cause: Cause
) -> None:
    add_times(own, step=1.1, counted=counted, counts_step=counts_step)
    (change,) = (each for each in changes_in(own) if each.metric.name == "undisturbed_time")
    assert change.cause is cause
    assert change.first.commit.sha == sha(12)
    assert change.relative == pytest.approx(0.1, abs=0.005)
    assert change.p is not None
    assert change.p < 1e-3


def test_times_of_two_machines_are_not_mixed(own: Store) -> None:
    for number in range(24):
        cpu = "Quick 9000" if number % 2 else "Slow 1"
        seconds = 1e-6 if number % 2 else 3e-6
        own.add_run(header(str(number), cpu=cpu), [times("work", seconds, seed=number)], origin(number))
    assert changes_in(own) == []


@pytest.mark.parametrize(("verdict", "cause"), [("slower", Cause.CONFIRMED), ("same", Cause.REFUTED)])
def test_a_live_comparison_of_the_two_commits_decides(own: Store, verdict: str, cause: Cause) -> None:
    add_times(own, step=1.1, counted=True, counts_step=False)
    head = comparison_header(sha(11), sha(12))
    own.add_run(head, [comparison("work", verdict, 1.1 if verdict == "slower" else 1.0)], origin_of(head, None))
    (change,) = changes_in(own)
    assert change.cause is cause
    assert change.comparison is not None
    assert change.comparison.verdict == verdict


@pytest.mark.parametrize(
    ("verdict", "interval", "words", "refutes"),
    [
        ("same", (0.996, 1.004), "same within 0.5 %", True),
        ("same", (0.94, 1.04), "same within 10 %", True),
        # It leaves open what the curve shows.
        ("same", (0.95, 1.12), "same", False),
        ("probably slower", (1.01, 1.2), "probably slower", False),
        ("undecided", (None, None), "undecided", False),
        ("identical", (0.9, 1.2), "identical", True),
    ],
)
def test_only_an_interval_without_the_step_refutes_it(
    verdict: str, interval: tuple[float | None, float | None], words: str, refutes: bool
) -> None:
    benchmark = Benchmark(1, "key", "work")
    stored = StoredComparison(1, 1, "comparison", benchmark, None, None, 0, verdict, 1.0, *interval, "")
    assert stored.words == words
    assert stored.may_be(1.1) is not refutes


def test_only_the_metrics_and_benchmarks_that_are_asked_for(own: Store) -> None:
    add_times(own, step=1.1, counted=True, counts_step=True)
    assert {change.metric.name for change in changes_in(own)} == {"instructions", "undisturbed_time"}
    assert {change.metric.name for change in changes_in(own, metrics=["undisturbed_time"])} == {"undisturbed_time"}
    assert changes_in(own, expression="not work") == []
