"""The data file of one commit: what every benchmark took there, for the comparison of two commits.

`CommitTable` collects it from curves, for all commits at once (publication); `read_commit` reads one commit from the
store (live). A commit that was measured several times has the median of its values.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from photometer.history import schema
from photometer.history.nouns import Curve, CurvePoint, Metric
from photometer.history.reading import read_metrics
from photometer.history.site.names import FIRST_METRICS, Series, SiteNames

# Six digits: a change of 0.001 % of a count still shows.
_DIGITS = 7


def compared_metrics(names: SiteNames) -> list[int]:
    return [number for number, metric in enumerate(names.metrics) if metric.name in FIRST_METRICS]


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    value: float
    low: float
    high: float


# By number of the benchmark.
Column = Mapping[int, Reading]


def commit_data(columns: Mapping[tuple[int, int], Column]) -> dict[str, Any]:
    """Return the columns by (series, metric): numbers of benchmarks, values, and the ends of their intervals."""
    return {
        "columns": [
            {
                "series": series,
                "metric": metric,
                "benchmarks": list(column),
                "values": [_short(reading.value) for reading in column.values()],
                "low": [_short(reading.low) for reading in column.values()],
                "high": [_short(reading.high) for reading in column.values()],
            }
            for (series, metric), column in sorted(columns.items())
        ]
    }


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


@dataclasses.dataclass
class _Block:
    """Values of one series and metric: a row per benchmark, a column per commit; NaN where there is none."""

    values: NDArray[np.float64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]


class CommitTable:
    """All commits: `add` every curve, then read each commit."""

    def __init__(self, names: SiteNames) -> None:
        self._names = names
        self._compared = set(compared_metrics(names))
        self._numbers = {benchmark.id: number for number, benchmark in enumerate(names.benchmarks)}
        self._blocks: dict[tuple[int, int], _Block] = {}

    def add(self, curve: Curve) -> None:
        series, metric = self._names.series_of(curve), self._names.metric_of(curve)
        row = self._numbers.get(curve.benchmark.id)
        if series is None or metric is None or row is None or metric not in self._compared:
            return
        block = self._block(series, metric)
        by_commit: dict[int, list[CurvePoint]] = {}
        for point in curve.points:
            place = self._names.place_of(curve.project, point.commit.sha)
            if place is not None:
                by_commit.setdefault(place, []).append(point)
        places = list(by_commit)
        # Most commits are measured once; a reading of its own for each of a million would take longer than the rest.
        readings = [found[0] if len(found) == 1 else _together(found) for found in by_commit.values()]
        block.values[row, places] = [reading.value for reading in readings]
        block.lows[row, places] = [reading.low for reading in readings]
        block.highs[row, places] = [reading.high for reading in readings]

    def data(self, project: str, place: int) -> dict[str, Any]:
        columns = {}
        for (series, metric), block in self._blocks.items():
            if self._names.series[series].project != project:
                continue
            there = np.flatnonzero(~np.isnan(block.values[:, place]))
            if there.size:
                columns[series, metric] = {
                    int(row): Reading(
                        float(block.values[row, place]), float(block.lows[row, place]), float(block.highs[row, place])
                    )
                    for row in there
                }
        return commit_data(columns)

    def _block(self, series: int, metric: int) -> _Block:
        if (series, metric) not in self._blocks:
            commits = len(self._names.commits[self._names.series[series].project])
            shape = (len(self._names.benchmarks), commits)
            self._blocks[series, metric] = _Block(*(np.full(shape, np.nan) for _ in range(3)))
        return self._blocks[series, metric]


def read_commit(connection: Connection, names: SiteNames, project: str, place: int) -> dict[str, Any]:
    """Return the same for one commit, from the store."""
    runs, points = schema.runs, schema.points
    query = (
        select(runs.c.machine_id, runs.c.environment_id, points)
        .join_from(points, runs, points.c.run_id == runs.c.id)
        .join(schema.commits, schema.commits.c.id == runs.c.commit_id)
        .join(schema.projects, schema.projects.c.id == runs.c.project_id)
        .where(
            schema.commits.c.sha == names.commits[project][place].sha,
            schema.projects.c.name == project,
            runs.c.is_dirty.is_(False),
            points.c.metric_id.in_([number for number, m in read_metrics(connection).items() if _is_compared(m)]),
        )
    )
    metrics = read_metrics(connection)
    known = {(each.machine.id, each.environment.id): each for each in names.series if each.project == project}
    numbers = {benchmark.id: number for number, benchmark in enumerate(names.benchmarks)}
    found: dict[tuple[Series, Metric, int], list[Reading]] = {}
    for row in connection.execute(query):
        series, number = known.get((row.machine_id, row.environment_id)), numbers.get(row.benchmark_id)
        if series is not None and number is not None:
            readings = found.setdefault((series, metrics[row.metric_id], number), [])
            readings.append(Reading(row.value, row.low, row.high))
    columns: dict[tuple[int, int], dict[int, Reading]] = {}
    for (series, metric, number), readings in sorted(found.items(), key=lambda item: item[0][2]):
        column = columns.setdefault((names.series.index(series), names.metrics.index(metric)), {})
        column[number] = _together(readings)
    return commit_data(columns)


def _is_compared(metric: Metric) -> bool:
    return metric.name in FIRST_METRICS


def _together(readings: Sequence[Reading | CurvePoint]) -> Reading:
    """Return the median of the values, and an interval that covers all of theirs."""
    return Reading(
        statistics.median(reading.value for reading in readings),
        min(reading.low for reading in readings),
        max(reading.high for reading in readings),
    )
