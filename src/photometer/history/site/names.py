"""Small numbers for the series, commits, metrics and benchmarks of the site, by which data files refer to them.

A series groups results that may share one curve: a project on one kind of machine in one environment.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.history.nouns import Benchmark, Commit, Curve, Machine, Metric, StoredEnvironment, StoredRun
from photometer.history.store import Store

# What is drawn first and compared, in this order; the others follow as the store has them.
FIRST_METRICS = ("undisturbed_time", "device_hot", "instructions", "peak_memory", "device_peak_memory")


@dataclasses.dataclass(frozen=True)
class Series:
    project: str
    machine: Machine
    environment: StoredEnvironment

    @property
    def key(self) -> str:
        """Return its name in addresses, which the next publication keeps."""
        text = "\n".join((self.project, self.machine.fingerprint, self.environment.fingerprint))
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]


@dataclasses.dataclass(frozen=True)
class SiteNames:
    """Numbers of all of them, and for each series and project the measured commits, oldest first."""

    projects: tuple[str, ...]
    series: tuple[Series, ...]
    metrics: tuple[Metric, ...]
    benchmarks: tuple[Benchmark, ...]
    commits: Mapping[str, tuple[Commit, ...]]
    measured: Mapping[Series, int]
    series_of_run: Mapping[int, int]
    _places: Mapping[str, Mapping[str, int]]

    @classmethod
    def read(cls, store: Store) -> SiteNames:
        return cls.of(store.runs(), store.metrics(), store.benchmarks())

    @classmethod
    def of(cls, runs: Sequence[StoredRun], metrics: Sequence[Metric], benchmarks: Sequence[Benchmark]) -> SiteNames:
        commits: dict[str, dict[str, Commit]] = {}
        measured: dict[Series, set[str]] = {}
        runs_of: dict[Series, list[int]] = {}
        for run in runs:
            if run.commit is None or run.is_dirty or run.kind not in ("run", "measurements"):
                continue
            commits.setdefault(run.project, {})[run.commit.sha] = run.commit
            series = Series(run.project, run.machine, run.environment)
            measured.setdefault(series, set()).add(run.commit.sha)
            runs_of.setdefault(series, []).append(run.id)
        ordered = {
            project: tuple(sorted(found.values(), key=lambda commit: commit.place))
            for project, found in sorted(commits.items())
        }
        # The one with most commits is shown first.
        all_series = tuple(sorted(measured, key=lambda each: (each.project, -len(measured[each]), each.key)))
        return cls(
            projects=tuple(ordered),
            series=all_series,
            metrics=tuple(sorted(metrics, key=_metric_order)),
            benchmarks=tuple(benchmarks),
            commits=ordered,
            measured={series: len(found) for series, found in measured.items()},
            series_of_run={run: number for number, series in enumerate(all_series) for run in runs_of[series]},
            _places={
                project: {commit.sha: place for place, commit in enumerate(found)} for project, found in ordered.items()
            },
        )

    def place_of(self, project: str, sha: str) -> int | None:
        """Return the number of a commit of a project; None if it came after the names were read."""
        return self._places.get(project, {}).get(sha)

    def series_of(self, curve: Curve) -> int | None:
        return _index(self.series, Series(curve.project, curve.machine, curve.environment))

    def metric_of(self, curve: Curve) -> int | None:
        return _index(self.metrics, curve.metric)


def _index(known: Sequence[object], wanted: object) -> int | None:
    return next((number for number, each in enumerate(known) if each == wanted), None)


def _metric_order(metric: Metric) -> tuple[int, str]:
    known = metric.name in FIRST_METRICS
    return (FIRST_METRICS.index(metric.name) if known else len(FIRST_METRICS), metric.name)


def facts_of(series: Series) -> list[tuple[str, str]]:
    """Return the facts behind its fingerprints, as text."""
    facts: dict[str, Any] = {**series.machine.facts, **series.environment.facts}
    return [(str(name).replace("_", " "), str(value)) for name, value in facts.items()]
