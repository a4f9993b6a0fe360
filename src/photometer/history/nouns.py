"""What is read from a store, as frozen records: runs, commits, benchmarks, curves, comparisons.

Nothing here uses SQL. Ids are numbers of one store; keys, full names of commits and fingerprints hold in all stores.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, NamedTuple


@dataclasses.dataclass(frozen=True)
class Commit:
    """A commit that was measured. Times are seconds since 1970; `generation` is how many ancestors it has, or 0."""

    sha: str
    committed_at: int = 0
    authored_at: int = 0
    generation: int = 0
    parents: tuple[str, ...] = ()
    author: str = ""
    subject: str = ""

    @property
    def short(self) -> str:
        return self.sha[:10]

    @property
    def place(self) -> tuple[int, int, str]:
        """The key to sort by: older ones first, and ancestors before descendants of the same second."""
        return self.committed_at, self.generation, self.sha


@dataclasses.dataclass(frozen=True)
class Machine:
    """A kind of machine: runs with the same fingerprint can be compared by time."""

    id: int
    fingerprint: str
    name: str
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)


@dataclasses.dataclass(frozen=True)
class StoredEnvironment:
    """The Python and torch that were measured, without what the commits themselves change."""

    id: int
    fingerprint: str
    name: str
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    fingerprint: str


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """One thing that is measured: its label, automatic labels, tags and code. `key` is the order's id."""

    id: int
    key: str
    title: str
    label: tuple[str, ...] = ()
    auto: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)
    tags: tuple[str, ...] = ()
    task: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)

    @property
    def names(self) -> frozenset[str]:
        """What the words of `-k` are compared with, as in `photometer list`."""
        auto = [f"{name.removeprefix('num_')}={value}" for name, value in self.auto.items()]
        words = (*self.label, self.title, *auto, *(str(value) for value in self.auto.values()), *self.tags)
        return frozenset(word.lower() for word in words)


@dataclasses.dataclass(frozen=True)
class StoredRun:
    """One run, comparison or `ab`. `is_complete` is false if it is under way or was killed."""

    id: int
    key: str
    kind: str
    project: str
    commit: Commit | None
    base_commit: Commit | None
    branch: str
    is_dirty: bool
    machine: Machine
    environment: StoredEnvironment
    suite: Suite
    started_at: int
    is_complete: bool
    source: str
    results: int = 0
    failures: int = 0


# Metrics that are called otherwise than they are stored: the figure that runs report is the time.
_METRIC_WORDS = {"undisturbed_time": "time", "time": "typical time"}


@dataclasses.dataclass(frozen=True)
class Metric:
    """A measured quantity: `unit` is per run of the statement. An exact one does not scatter on one machine."""

    name: str
    unit: str
    is_exact: bool

    @property
    def words(self) -> str:
        """Return the metric's name for people."""
        return _METRIC_WORDS.get(self.name) or self.name.removeprefix("metric ").replace("_", " ")

    def is_called(self, name: str) -> bool:
        """Whether this is the metric that an option names, by its words or by the name that stores have."""
        return name == self.words or (name == self.name and name not in _METRIC_WORDS.values())


class CurvePoint(NamedTuple):
    """A value at a commit, with its interval: for a time, that of its quantile (95 %); for a count, that of repeats.

    A tuple, because a large store has millions: a frozen dataclass takes three times as long to make.
    """

    commit: Commit
    value: float
    low: float
    high: float
    run_id: int
    result_id: int

    def is_apart_from(self, other: CurvePoint) -> bool:
        """Whether no repeat of one equals any of the other."""
        return self.high < other.low or other.high < self.low


@dataclasses.dataclass(frozen=True)
class Curve:
    """One metric of one benchmark over the commits of a project, oldest first; one machine, one environment."""

    benchmark: Benchmark
    metric: Metric
    project: str
    machine: Machine
    environment: StoredEnvironment
    points: tuple[CurvePoint, ...]


@dataclasses.dataclass(frozen=True)
class ComparedFigure:
    """An exact metric, by its name, on both sides of a comparison."""

    metric: str
    base: float
    branch: float


@dataclasses.dataclass(frozen=True)
class StoredComparison:
    """A verdict on one benchmark: `branch` against `base`. An end of the interval that is not known is None."""

    result_id: int
    run_id: int
    kind: str
    benchmark: Benchmark
    base: Commit | None
    branch: Commit | None
    started_at: int
    verdict: str
    ratio: float
    low: float | None
    high: float | None
    cause: str
    machine_id: int = 0
    # Counts and memory of both sides; only if they were asked for.
    figures: tuple[ComparedFigure, ...] = ()

    @property
    def words(self) -> str:
        """Return the verdict in words, with the bound of "same", which follows from its interval."""
        from photometer.analysis.judge import bound_of
        from photometer.analysis.verdict import bound_text

        if self.verdict != "same" or not self.low or not self.high:
            return self.verdict
        bound = bound_of((math.log(self.low), math.log(self.high)), margin=0.0)
        return self.verdict if bound is None else f"same within {bound_text(bound)}"

    def may_be(self, ratio: float) -> bool:
        """Return whether this ratio lies in the interval."""
        if self.verdict == "identical":
            return False
        return (self.low is None or self.low <= ratio) and (self.high is None or ratio <= self.high)


@dataclasses.dataclass(frozen=True)
class Added:
    """The outcome of adding records: their run, and how many of them were new.

    `not_final` are times that lack visits: a store keeps them when `run --resume` has completed them.
    """

    run_id: int
    new: int
    known: int
    not_final: int = 0
