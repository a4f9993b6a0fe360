"""The changes as the site shows them: each with its series, its commits, its cause, and the functions behind it.

In: a store and its curves. Out: SiteChanges, the newest first, which `index_data` writes as plain values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from photometer.analysis.cause import FunctionChange, short_functions
from photometer.errors import EnvironmentSpecError, PhotometerError
from photometer.history.changes import Between, Change, changed_functions, find_all
from photometer.history.nouns import Commit, Curve, StoredComparison
from photometer.history.repository import Repository
from photometer.history.site.benchmark_data import finite
from photometer.history.site.names import SiteNames
from photometer.history.store import Store

# The largest few tell the story.
FUNCTIONS_NAMED = 5
CommitNumber = Callable[[str, Commit], int]


@dataclasses.dataclass(frozen=True)
class SiteChange:
    change: Change
    functions: tuple[FunctionChange, ...] = ()

    @property
    def benchmark_id(self) -> int:
        return self.change.benchmark.id

    def data(self, benchmark: int, names: SiteNames, commit_number: CommitNumber) -> dict[str, Any]:
        """Return plain values; `commit_number` numbers the commits of changes."""
        change = self.change
        between = None if change.unmeasured is None else len(change.unmeasured)
        live = change.comparison
        named = self.functions[:FUNCTIONS_NAMED]
        return {
            "benchmark": benchmark,
            "series": names.series_of_run[change.first.run_id],
            "metric": names.metrics.index(change.metric),
            "last": commit_number(change.project, change.last.commit),
            "first": commit_number(change.project, change.first.commit),
            "before": change.before,
            "after": change.after,
            "relative": finite(change.relative),
            "p": change.p,
            "origin": change.cause.value,
            "between": 0 if change.is_one_commit else between,
            "functions": [
                [name, each.instructions_per_run, each.function]
                for name, each in zip(short_functions([each.function for each in named]), named, strict=True)
            ],
            "more_functions": max(len(self.functions) - FUNCTIONS_NAMED, 0),
            "verdict": None if live is None else [live.verdict, finite(live.ratio)],
        }


def site_changes(
    store: Store, names: SiteNames, curves: Iterable[Curve], repository: Repository | None = None
) -> list[SiteChange]:
    """Return the changes of all curves whose series and metrics have names."""
    found = find_all(curves, between=_between(names, repository), compared=_compared(store.comparisons()))
    return [
        SiteChange(change, _functions(store, change))
        for change in found
        if change.first.run_id in names.series_of_run and change.metric in names.metrics
    ]


def _functions(store: Store, change: Change) -> tuple[FunctionChange, ...]:
    try:
        return changed_functions(store, change)
    except PhotometerError:
        # The change is certain without them; a record that was pruned or damaged takes only its cause away.
        return ()


def _compared(comparisons: Iterable[StoredComparison]) -> dict[tuple[str, str, int], StoredComparison]:
    """Return the newest comparison of two commits, by their names and the benchmark's number."""
    found: dict[tuple[str, str, int], StoredComparison] = {}
    for each in comparisons:
        if each.base is not None and each.branch is not None:
            found.setdefault((each.base.sha, each.branch.sha, each.benchmark.id), each)
    return found


def _between(names: SiteNames, repository: Repository | None) -> Between:
    """Return a function that lists the commits between two; git is used only if they are not parent and child."""
    parents = {commit.sha: commit.parents for found in names.commits.values() for commit in found}

    def between(last: str, first: str) -> tuple[str, ...] | None:
        if last in parents.get(first, ())[:1]:
            return ()
        if repository is None:
            return None
        try:
            return repository.between(last, first)[:-1]
        except EnvironmentSpecError:
            return None

    return between
