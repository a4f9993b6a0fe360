"""The changes of everything that a store holds, with the repository here to say which commits lie between.

In: a store and a selection. Out: Changes, the newest first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from photometer.history.changes import FOLLOWING, Between, Change, find_all
from photometer.history.nouns import StoredComparison
from photometer.history.repository import Repository
from photometer.history.store import Store


def changes_in(
    store: Store,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    metrics: Sequence[str] | None = None,
    project: str | None = None,
    repository: Repository | None = None,
) -> list[Change]:
    """Return what changed. `metrics` are those to look at, by default all that do not follow from others."""
    benchmarks = None
    if expression is not None or tags:
        benchmarks = [benchmark.id for benchmark in store.benchmarks(expression, tags)]
    known = [metric.name for metric in store.metrics()]
    wanted = [name for name in known if (name not in FOLLOWING if metrics is None else name in metrics)]
    # The counts tell whose a change of time is, so they are read in any case.
    read = {*wanted, "instructions"}
    curves = store.all_curves(sorted(read), benchmark_ids=benchmarks, project=project)
    found = find_all(curves, between=commits_between(repository or Repository.find()), compared=_compared(store))
    return [change for change in found if change.metric.name in wanted]


def commits_between(repository: Repository | None) -> Between:
    """Return a function for the commits strictly between two: none if they are neighbours, None if git cannot say."""

    def between(old: str, new: str) -> tuple[str, ...] | None:
        if repository is None or not repository.is_ancestor(old, new):
            return None
        return repository.between(old, new)[:-1]

    return between


def _compared(store: Store) -> dict[tuple[str, str, int], StoredComparison]:
    """Return the latest live comparison of each pair of commits and benchmark."""
    found: dict[tuple[str, str, int], StoredComparison] = {}
    for each in store.comparisons():
        if each.base is not None and each.branch is not None and each.kind == "compare":
            found.setdefault((each.base.sha, each.branch.sha, each.benchmark.id), each)
    return found
