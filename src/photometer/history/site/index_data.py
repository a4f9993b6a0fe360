"""The index of the site, which the first view needs: series, benchmarks with their latest values, and the changes.

In: the names, a `Latest` that has processed every curve, and the changes. Out: plain values for JSON. Commits that no
change refers to are in a file of their own, which curves and comparisons need.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import photometer
from photometer.errors import StoreError
from photometer.history.change_points import relative_noise
from photometer.history.nouns import Commit, Curve
from photometer.history.site.benchmark_data import code_of, identity
from photometer.history.site.changes import SiteChange
from photometer.history.site.commit_data import compared_metrics
from photometer.history.site.names import SiteNames, facts_of
from photometer.model.order_name import name_below_group
from photometer.report.page.record_identity import USUAL_WORDS

# How many values the small curve beside a benchmark's name has, and of how many levels each.
SPARK_VALUES = 40
SPARK_LEVELS = 99
# A statement is searched by its beginning: sites of thousands of benchmarks stay small.
MOST_SEARCHED = 200


@dataclasses.dataclass(frozen=True)
class SiteOptions:
    """`commit_url` is a pattern such as https://forge.example/project/commit/{sha}."""

    title: str = "History"
    commit_url: str | None = None
    is_live: bool = False


def checked_commit_url(pattern: str | None) -> str | None:
    """Return a pattern that makes a link of a commit.

    Raise unless it is an address of the web.
    """
    if not pattern:
        return None
    parts = urlsplit(pattern)
    if parts.scheme not in ("http", "https") or not parts.netloc or "{sha}" not in pattern:
        raise StoreError(
            "the pattern of a commit's address must begin with https:// or http:// and have {sha} in it",
            remedy="For example: --commit-url 'https://github.com/OWNER/NAME/commit/{sha}'",
        )
    return pattern


class Latest:
    """The latest values of benchmarks, and small curves: `add` every curve."""

    def __init__(self, names: SiteNames) -> None:
        self._names = names
        self._compared = set(compared_metrics(names))
        self._rows: dict[int, dict[int, dict[str, Any]]] = {}

    def add(self, curve: Curve) -> None:
        series, metric = self._names.series_of(curve), self._names.metric_of(curve)
        if series is None or metric is None or metric not in self._compared or not curve.points:
            return
        row = self._rows.setdefault(curve.benchmark.id, {}).setdefault(
            series, {"series": series, "values": {}, "noise": {}}
        )
        row["values"][metric] = float(f"{curve.points[-1].value:.7g}")
        if not curve.metric.is_exact:
            row["noise"][metric] = float(f"{relative_noise([point.value for point in curve.points]):.2g}")
        # Of the first metric in the order of the page that this benchmark has.
        if metric <= row.get("spark_metric", metric):
            row["spark_metric"] = metric
            row["spark"] = spark([point.value for point in curve.points])

    def of(self, benchmark_id: int) -> list[dict[str, Any]]:
        return [row for _, row in sorted(self._rows.get(benchmark_id, {}).items())]


def spark(values: Sequence[float]) -> list[int]:
    """Return medians of pieces of a curve, as levels between its lowest and its highest one."""
    count = min(len(values), SPARK_VALUES)
    ends = [round(place * len(values) / count) for place in range(count + 1)]
    medians = [statistics.median(values[start:end]) for start, end in itertools.pairwise(ends)]
    low, high = min(medians), max(medians)
    # Noise that fills the whole height looks like a change: at least 5 % do.
    span = max(high - low, 0.05 * abs(high)) or 1.0
    middle = (low + high) / 2
    return [round(((each - middle) / span + 0.5) * SPARK_LEVELS) for each in medians]


def index_data(
    names: SiteNames, latest: Latest, changes: Sequence[SiteChange], options: SiteOptions, made_at: int
) -> dict[str, Any]:
    numbers = {benchmark.id: number for number, benchmark in enumerate(names.benchmarks)}
    named: dict[tuple[str, str], int] = {}
    commits: list[list[Any]] = []

    def commit_number(project: str, commit: Commit) -> int:
        if (project, commit.sha) not in named:
            named[project, commit.sha] = len(commits)
            commits.append([*commit_row(commit), names.place_of(project, commit.sha), names.projects.index(project)])
        return named[project, commit.sha]

    return {
        "title": options.title,
        "commit_url": options.commit_url,
        "is_live": options.is_live,
        "made_at": made_at,
        "version": photometer.__version__,
        "usual_words": list(USUAL_WORDS),
        "projects": [{"name": name, "commits": len(names.commits[name])} for name in names.projects],
        "series": [
            {
                "key": series.key,
                "project": names.projects.index(series.project),
                "machine": series.machine.name,
                "environment": series.environment.name,
                "commits": names.measured[series],
                "facts": facts_of(series),
            }
            for series in names.series
        ],
        "metrics": [{"name": each.name, "unit": each.unit, "exact": each.is_exact} for each in names.metrics],
        "benchmarks": [_benchmark_row(names, latest, number) for number in range(len(names.benchmarks))],
        "changes": [
            change.data(numbers[change.benchmark_id], names, commit_number)
            for change in changes
            if change.benchmark_id in numbers
        ],
        "change_commits": commits,
    }


def commits_data(names: SiteNames) -> dict[str, Any]:
    """Return the commits of every project, oldest first."""
    return {"projects": [[commit_row(commit) for commit in names.commits[name]] for name in names.projects]}


def commit_row(commit: Commit) -> list[Any]:
    return [commit.sha, commit.committed_at, commit.author, commit.subject]


def _benchmark_row(names: SiteNames, latest: Latest, number: int) -> dict[str, Any]:
    benchmark = names.benchmarks[number]
    about = identity(benchmark)
    return {
        "number": benchmark.id,
        "key": benchmark.key,
        "group": about.path[0] if len(about.path) > 1 else "",
        "name": name_below_group(about.path),
        "words": list(about.words),
        "tags": list(benchmark.tags),
        "stmt": code_of(benchmark.task).get("stmt", "")[:MOST_SEARCHED],
        "latest": latest.of(benchmark.id),
    }
