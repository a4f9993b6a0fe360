"""What changed over the commits of a project: every step of an exact metric, and the steps of times beyond their noise.

In: curves, a store, and the repository here, which knows the commits in between. Out: Changes, each with the commits
between which it lies, its size, its certainty, its cause (the code, if the instructions changed too; the machine, if
they did not; or open), and, for instructions, the functions behind it.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from photometer.analysis.cause import FunctionChange, function_changes
from photometer.analysis.verdict import CHANGED_WORDS
from photometer.history.nouns import Benchmark, Curve, CurvePoint, Machine, Metric, StoredComparison
from photometer.history.points import INSTRUCTIONS
from photometer.history.reading import functions_of
from photometer.history.repository import Repository
from photometer.history.store import Store
from photometer.instruments.callgrind.figures import TOP_FUNCTIONS
from photometer.model.instruction_counts import FunctionCounts


def changed_functions(store: Store, change: Change) -> tuple[FunctionChange, ...]:
    """Return the functions whose own instructions changed; none for a metric that is not counted by function."""
    if change.metric.name != INSTRUCTIONS.name:
        return ()
    return between_counts(store.record(change.last.result_id), store.record(change.first.result_id))


def between_counts(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FunctionChange, ...]:
    """Return the change of each function between two records of counts.

    A record has its largest functions only. A function that only one side has is used if it is larger than the smallest
    that the other side lists: otherwise the other side may have it, just not listed.
    """
    base, branch = functions_of(before), functions_of(after)
    runs = int(before.get("number_per_run") or 1)
    return function_changes(_believed(base, branch), _believed(branch, base), runs)


def _believed(side: FunctionCounts, other: FunctionCounts) -> FunctionCounts:
    floor = min(row.count for row in other) if len(other) >= TOP_FUNCTIONS else 0
    listed = {row.function for row in other}
    return FunctionCounts.from_mapping(
        {row.function: row.count for row in side if row.function in listed or row.count > floor}, inclusive=False
    )


def changes_in(
    store: Store,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    metrics: Sequence[str] | None = None,
    project: str | None = None,
    repository: Repository | None = None,
) -> list[Change]:
    """Return the changes. `metrics` selects metrics; by default all that do not follow from others."""
    benchmarks = None
    if expression is not None or tags:
        benchmarks = [benchmark.id for benchmark in store.benchmarks(expression, tags)]
    wanted = [
        metric.name
        for metric in store.metrics()
        if (metric.name not in FOLLOWING if metrics is None else any(map(metric.is_called, metrics)))
    ]
    # The counts tell whose a change of time is, so they are read in any case.
    read = {*wanted, "instructions"}
    curves = store.all_curves(sorted(read), benchmark_ids=benchmarks, project=project)
    found = find_all(curves, between=commits_between(repository or Repository.find()), compared=_compared(store))
    return [change for change in found if change.metric.name in wanted]


def commits_between(repository: Repository | None) -> Between:
    """Return a function for the commits strictly between two.

    It returns none for neighbours, and None if git does not know them.
    """

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


# Of a step in time, the commit is known to within this many measured ones; a step in counts within them explains it.
NEARBY = 2
# Metrics that follow from others, so that a change of them would be reported twice.
FOLLOWING = frozenset({"time", "all_instructions", "allocator_calls", "allocated_memory", "device_allocated_memory"})


class Cause(enum.Enum):
    """The cause of a change: the code, the machine, or open."""

    CODE = "code"
    MACHINE = "machine"
    CONFIRMED = "confirmed"
    REFUTED = "not confirmed"
    OPEN = "open"


@dataclasses.dataclass(frozen=True)
class Change:
    """A step between two measured commits.

    `p` is None if it is exact; `unmeasured` are the commits between them, or None if git does not know them any more.
    For a time, `before` and `after` are the levels on both sides; for a count, the values.
    """

    benchmark: Benchmark
    metric: Metric
    machine: Machine
    project: str
    last: CurvePoint
    first: CurvePoint
    before: float
    after: float
    cause: Cause
    p: float | None = None
    unmeasured: tuple[str, ...] | None = None
    comparison: StoredComparison | None = None

    @property
    def relative(self) -> float:
        """Return the change as a share of the value before; infinite if that was 0."""
        return (self.after - self.before) / self.before if self.before else float("inf")

    @property
    def is_one_commit(self) -> bool:
        """Whether the commit of the change is certain."""
        return self.last.commit.sha in self.first.commit.parents[:1] or self.unmeasured == ()


Between = Callable[[str, str], "tuple[str, ...] | None"]
Compared = Mapping[tuple[str, str, int], StoredComparison]


def find_all(curves: Iterable[Curve], *, between: Between, compared: Compared) -> list[Change]:
    """Return the changes of all curves, the newest first. The curves of one benchmark must follow each other."""
    found: list[Change] = []
    gathered: list[Curve] = []
    for curve in curves:
        if gathered and curve.benchmark.id != gathered[0].benchmark.id:
            found += _of_benchmark(gathered, compared)
            gathered = []
        gathered.append(curve)
    found += _of_benchmark(gathered, compared)
    known: dict[tuple[str, str], tuple[str, ...] | None] = {}
    for index, change in enumerate(found):
        ends = (change.last.commit.sha, change.first.commit.sha)
        if ends not in known:
            known[ends] = between(*ends)
        found[index] = dataclasses.replace(change, unmeasured=known[ends])
    return sorted(found, key=lambda change: (change.first.commit.place, abs(change.relative)), reverse=True)


def levels_of(curve: Curve) -> list[CurvePoint]:
    """Return one point per commit, oldest first.

    Of a commit that was measured several times it is the median, with an interval that covers those of all runs.
    """
    if len({point.commit.sha for point in curve.points}) == len(curve.points):
        return list(curve.points)
    by_commit: dict[str, list[CurvePoint]] = {}
    for point in curve.points:
        by_commit.setdefault(point.commit.sha, []).append(point)
    return [points[0] if len(points) == 1 else _level(points) for points in by_commit.values()]


def steps_of(curve: Curve) -> Iterator[tuple[CurvePoint, CurvePoint]]:
    """Yield the steps of an exact metric: neighbours that have no repeat in common."""
    levels = levels_of(curve)
    for last, first in itertools.pairwise(levels):
        if first.is_apart_from(last):
            yield last, first


def _level(points: Sequence[CurvePoint]) -> CurvePoint:
    value = statistics.median_low(point.value for point in points)
    chosen = next(point for point in reversed(points) if point.value == value)
    return chosen._replace(low=min(point.low for point in points), high=max(point.high for point in points))


def _of_benchmark(curves: Sequence[Curve], compared: Compared) -> Iterator[Change]:
    wanted = [curve for curve in curves if curve.metric.name not in FOLLOWING]
    steps: dict[tuple[str, int, int], list[tuple[CurvePoint, CurvePoint]]] = {}
    for curve in wanted:
        if curve.metric.is_exact:
            found = list(steps_of(curve))
            if curve.metric.name == INSTRUCTIONS.name:
                steps[_series(curve)] = found
            for last, first in found:
                yield Change(*_whose(curve), last, first, last.value, first.value, Cause.CODE)
    for curve in wanted:
        if not curve.metric.is_exact:
            yield from _of_noisy(curve, steps.get(_series(curve)), compared)


def _series(curve: Curve) -> tuple[str, int, int]:
    return curve.project, curve.machine.id, curve.environment.id


def _of_noisy(
    curve: Curve, counted: Sequence[tuple[CurvePoint, CurvePoint]] | None, compared: Compared
) -> Iterator[Change]:
    from photometer.history.change_points import find_changes

    levels = levels_of(curve)
    for found in find_changes([level.value for level in levels]):
        last, first = levels[found.index - 1], levels[found.index]
        earliest, latest = levels[max(found.index - NEARBY, 0)], levels[min(found.index + NEARBY, len(levels) - 1)]
        nearby = earliest.commit.place, latest.commit.place
        comparison = compared.get((last.commit.sha, first.commit.sha, curve.benchmark.id))
        cause = _cause_of(counted, nearby, found.after / found.before, comparison)
        yield Change(*_whose(curve), last, first, found.before, found.after, cause, p=found.p, comparison=comparison)


def _cause_of(
    counted: Sequence[tuple[CurvePoint, CurvePoint]] | None,
    nearby: tuple[tuple[int, int, str], tuple[int, int, str]],
    ratio: float,
    comparison: StoredComparison | None,
) -> Cause:
    if comparison is not None and comparison.verdict in CHANGED_WORDS:
        return Cause.CONFIRMED
    if comparison is not None and not comparison.may_be(ratio):
        return Cause.REFUTED
    if counted is None:
        return Cause.OPEN
    explained = any(
        nearby[0] <= first.commit.place <= nearby[1] and (first.value > last.value) == (ratio > 1.0)
        for last, first in counted
    )
    return Cause.CODE if explained else Cause.MACHINE


def _whose(curve: Curve) -> tuple[Benchmark, Metric, Machine, str]:
    return curve.benchmark, curve.metric, curve.machine, curve.project
