"""Search: find the first commit that changed a benchmark, by exact figures if they differ, else by live comparison.

In: two revisions, a suite, a selection, a metric. Out: a FirstCommit with the commit, the change and the functions, and
its text. Results of each commit are kept in a folder, so that an interrupted search can be continued.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from photometer.analysis.cause import FunctionChange
from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.verdict import CHANGED_WORDS
from photometer.commits.bisection import Found, Outcome, bisect
from photometer.commits.lane import CommitLane, CommitSource
from photometer.commits.range_run import RangeRequest, measure_commit
from photometer.comparing.environments import compare_requested
from photometer.comparing.request import ComparisonRequest, ComparisonSettings, plan_suite
from photometer.errors import DefinitionError, PhotometerError
from photometer.execution.run_settings import RunSettings
from photometer.history.changes import between_counts
from photometer.history.identity import benchmark_of
from photometer.history.nouns import Commit
from photometer.history.points import DEVICE_PEAK_MEMORY, INSTRUCTIONS, PEAK_MEMORY, Point, points_of
from photometer.history.repository import Repository
from photometer.model.results_folder import RESULTS_FOLDER
from photometer.model.results_format import SKIPPED
from photometer.model.results_reader import load_results
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from photometer.commits.lane import CommitNodes
from photometer.history.nouns import Metric
from photometer.history.points import UNDISTURBED
from photometer.history.text import FUNCTIONS_SHOWN, format_change, format_day, format_value, visible_block

FOLDER = RESULTS_FOLDER / "bisect"
# Seconds of measuring per benchmark and comparison; an undecided one gets them once more.
COMPARISON_SECONDS = 20.0

MetricName = Literal["instructions", "memory", "time"]
# Where a statement runs on an accelerator, its memory is that of the accelerator: the later name counts.
_EXACT = {"instructions": (INSTRUCTIONS.name,), "memory": (PEAK_MEMORY.name, DEVICE_PEAK_MEMORY.name)}


@dataclasses.dataclass(frozen=True)
class SearchRequest:
    """What to search for. With `metric` None, instructions if they differ between the two revisions, else time."""

    good: str
    bad: str
    suite: str
    metric: MetricName | None = None
    expression: str | None = None
    tags: Collection[str] = ()
    install: str | None = None
    store: str | None = None
    folder: Path = FOLDER
    seconds: float = COMPARISON_SECONDS
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS

    def settings_for(self, metric: str) -> RunSettings:
        """Return the settings for each commit, which measure only the exact metric."""
        return RunSettings(
            options={"wall": False, "instructions": metric == "instructions", "memory": metric == "memory"}, repeats=1
        )


@dataclasses.dataclass(frozen=True)
class Figure:
    """A benchmark at a commit: its exact value and the record that has it."""

    title: str
    point: Point
    record: Mapping[str, Any] = dataclasses.field(hash=False)

    def is_apart_from(self, other: Figure) -> bool:
        return self.point.high < other.point.low or other.point.high < self.point.low


@dataclasses.dataclass(frozen=True)
class ChangedBenchmark:
    """How the found commit changed a benchmark: values before and after, or the verdict of a live comparison."""

    title: str
    metric: str
    before: float
    after: float
    functions: tuple[FunctionChange, ...] = ()
    verdict: ComparisonResult | None = None


@dataclasses.dataclass(frozen=True)
class FirstCommit:
    """The commit, or all candidates if some could not be tested (the last one is known to differ)."""

    candidates: tuple[Commit, ...]
    last_same: Commit
    metric: MetricName
    changes: tuple[ChangedBenchmark, ...]
    steps: int
    commits: int
    untestable: tuple[Commit, ...] = ()

    @property
    def commit(self) -> Commit | None:
        return self.candidates[0] if len(self.candidates) == 1 else None


class Nothing(DefinitionError):
    """The two revisions do not differ in the searched metric."""


OnStep = Callable[[int, int, Commit, str], None]


def find_first(
    request: SearchRequest,
    on_step: OnStep = lambda step, left, commit, words: None,
    *,
    nodes: CommitNodes | None = None,
) -> FirstCommit:
    """Search. Call `on_step` for each commit with the step's number, the number of commits left, and the outcome.

    With `nodes`, one of them does all the work, so that both sides are measured on one machine.
    """
    repository = Repository()
    good = repository.resolve(request.good)
    commits = repository.between(good, request.bad)
    if not commits or not repository.is_ancestor(good, commits[-1]):
        raise DefinitionError(
            f"{request.good} is not an ancestor of {request.bad}", remedy="Name the older revision first."
        )
    # A mistake in the suite or in the selection is not one of a commit.
    planned = plan_suite(request.suite, request.expression, request.tags)
    if nodes is None:
        with CommitLane(repository.top, install=request.install, code=planned.folders) as lane:
            return _Search(request, repository, good, commits, lane, on_step, compare_requested).run()
    nodes.ship(repository.top, (good, *commits), request.install)
    with nodes.any_lane() as there:
        return _Search(request, repository, good, commits, there, on_step, there.compare).run()


class _Search:
    def __init__(
        self,
        request: SearchRequest,
        repository: Repository,
        good: str,
        commits: Sequence[str],
        lane: CommitSource,
        on_step: OnStep,
        compare: Callable[..., EnvironmentComparison],
    ) -> None:
        self._request, self._repository, self._lane, self._on_step = request, repository, lane, on_step
        self._compare_sides = compare
        self._good, self._commits = good, commits
        self._figures: dict[tuple[str, str], Mapping[str, Figure] | None] = {}
        self._verdicts: dict[str, Sequence[ComparisonResult]] = {}
        self._untestable: list[str] = []
        self._why_not: dict[str, str] = {}
        self._step = 0

    def run(self) -> FirstCommit:
        wanted = self._request.metric
        if wanted in _EXACT or wanted is None:
            exact = wanted or "instructions"
            differ = self._ends_differ(exact)
            if differ:
                return self._found(bisect(len(self._commits), lambda place: self._by_figures(place, exact)), exact)
            if wanted is not None:
                raise Nothing(
                    f"{exact} of {self._request.good} and {self._request.bad} are the same in all selected benchmarks",
                    remedy="Search by --metric time, or select other benchmarks with -k.",
                )
        self._check_end_by_time()
        return self._found(bisect(len(self._commits), self._by_time), "time")

    def _ends_differ(self, metric: str) -> bool:
        ends = [self._figures_at(sha, metric) for sha in (self._good, self._commits[-1])]
        for name, figures in zip((self._request.good, self._request.bad), ends, strict=True):
            if not figures:
                raise DefinitionError(
                    f"{name} cannot be measured, so there is nothing to compare with",
                    log=self._why_not.get(self._repository.resolve(name), ""),
                    remedy="Name revisions at which the selected benchmarks run; `photometer run` shows the errors.",
                )
        assert ends[0] is not None
        assert ends[1] is not None
        return bool(_apart(ends[0], ends[1]))

    def _by_figures(self, place: int, metric: str) -> Outcome:
        sha = self._commits[place]
        base, here = self._figures_at(self._good, metric), self._figures_at(sha, metric)
        assert base is not None
        if not here or not set(base) <= set(here):
            return self._report(place, Outcome.UNTESTABLE)
        return self._report(place, Outcome.CHANGED if _apart(base, here) else Outcome.SAME)

    def _figures_at(self, sha: str, metric: str) -> Mapping[str, Figure] | None:
        """Return the exact figures of a commit, measured unless its folder has them; None if it does not run."""
        if (sha, metric) not in self._figures:
            self._figures[sha, metric] = self._measure(sha, metric)
        return self._figures[sha, metric]

    def _measure(self, sha: str, metric: str) -> Mapping[str, Figure] | None:
        request = RangeRequest(
            self._request.suite,
            self._request.good,
            self._request.bad,
            self._request.store or "",
            self._request.settings_for(metric),
            expression=self._request.expression,
            tags=self._request.tags,
            install=self._request.install,
            folder=self._request.folder,
            timeout_seconds=self._request.timeout_seconds,
        )
        outcome = measure_commit(self._lane, self._repository, self._repository.commit(sha), request)
        if outcome.report is None or outcome.report.results is None:
            self._why_not[sha] = outcome.error or "nothing is selected"
            return None
        results = load_results(outcome.report.results, recover=True)
        reasons = [
            str(record.get("message") or f"skipped: {record.get('reason')}")
            for record in results.records
            if record["kind"] in ("failure", SKIPPED)
        ]
        self._why_not[sha] = "\n".join(reasons)
        return figures_in(results.records, _EXACT[metric])

    def _check_end_by_time(self) -> None:
        outcome = self._compare(self._commits[-1])
        if outcome is Outcome.UNTESTABLE:
            raise DefinitionError(
                f"{self._request.bad} cannot be compared with {self._request.good}, or the verdict stays open",
                remedy="Compare the two with `photometer compare` to see why; give a larger --budget.",
            )
        if outcome is Outcome.SAME:
            raise Nothing(
                f"{self._request.bad} is as fast as {self._request.good} in all selected benchmarks",
                remedy="Select other benchmarks with -k, or name other revisions.",
            )

    def _by_time(self, place: int) -> Outcome:
        return self._report(place, self._compare(self._commits[place]))

    def _compare(self, sha: str) -> Outcome:
        """Compare a commit with the good one live. An undecided one is tried again, and then counts as untestable."""
        top, seconds = self._repository.top, self._request.seconds
        for _ in range(2):
            try:
                comparison = self._compare_sides(
                    ComparisonRequest(
                        (f"git:{self._good}@{top}", f"git:{sha}@{top}"),
                        self._request.suite,
                        # Where counts decide, this is not reached.
                        ComparisonSettings(seconds, instructions=False, timeout_seconds=self._request.timeout_seconds),
                        self._request.expression,
                        self._request.tags,
                        self._request.install,
                        store=self._request.store,
                    )
                )
            except PhotometerError as error:
                self._why_not[sha] = error.message
                return Outcome.UNTESTABLE
            self._verdicts[sha] = comparison.results
            verdicts = [result.judged for result in comparison.results]
            if any(verdict.verdict in CHANGED_WORDS for verdict in verdicts):
                return Outcome.CHANGED
            if verdicts and all(verdict.is_final for verdict in verdicts) and not comparison.failures:
                return Outcome.SAME
            seconds *= 2
        return Outcome.UNTESTABLE

    def _report(self, place: int, outcome: Outcome) -> Outcome:
        self._step += 1
        sha = self._commits[place]
        if outcome is Outcome.UNTESTABLE:
            self._untestable.append(sha)
        words = outcome.value
        if outcome is Outcome.UNTESTABLE and self._why_not.get(sha):
            words += f": {self._why_not[sha].splitlines()[0]}"
        self._on_step(self._step, len(self._commits), self._repository.commit(sha), words)
        return outcome

    def _found(self, found: Found, metric: str) -> FirstCommit:
        commit = self._repository.commit
        last = self._good if found.last_same < 0 else self._commits[found.last_same]
        first = self._commits[found.first_changed]
        name: MetricName = "time" if metric == "time" else "memory" if metric == "memory" else "instructions"
        return FirstCommit(
            candidates=tuple(commit(self._commits[place]) for place in found.candidates),
            last_same=commit(last),
            metric=name,
            changes=self._changes_by_time(first) if name == "time" else self._changes(last, first, metric),
            steps=found.steps,
            commits=len(self._commits),
            untestable=tuple(commit(sha) for sha in self._untestable),
        )

    def _changes(self, last: str, first: str, metric: str) -> tuple[ChangedBenchmark, ...]:
        before, after = self._figures_at(last, metric), self._figures_at(first, metric)
        assert before is not None
        assert after is not None
        return tuple(
            ChangedBenchmark(
                before[key].title,
                metric,
                before[key].point.value,
                after[key].point.value,
                between_counts(before[key].record, after[key].record) if metric == "instructions" else (),
            )
            for key in _apart(before, after)
        )

    def _changes_by_time(self, first: str) -> tuple[ChangedBenchmark, ...]:
        changed = [result for result in self._verdicts.get(first, ()) if result.verdict in CHANGED_WORDS]
        return tuple(
            ChangedBenchmark(
                result.title,
                "time",
                result.judged.base_seconds,
                result.judged.base_seconds * result.ratio,
                verdict=result,
            )
            for result in changed
        )


def figures_in(records: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> dict[str, Figure]:
    """Return the values of the last metric that the records have, by benchmark."""
    found: dict[str, Figure] = {}
    for record in records:
        identity = benchmark_of(record)
        if identity is None:
            continue
        points = {point.metric.name: point for point in points_of(record)}
        for metric in metrics:
            if metric in points:
                found[identity.key] = Figure(identity.title, points[metric], record)
    return found


def _apart(base: Mapping[str, Figure], other: Mapping[str, Figure]) -> list[str]:
    """Return the benchmarks whose exact figures differ."""
    return [key for key, figure in base.items() if key in other and figure.is_apart_from(other[key])]


_METRICS: dict[str, Metric] = {"instructions": INSTRUCTIONS, "memory": PEAK_MEMORY, "time": UNDISTURBED}


def render_first(found: FirstCommit) -> str:
    if found.commit is not None:
        lines = [f"{found.commit.sha} is the first commit that changed {found.metric}", *_about(found.commit)]
    else:
        last = found.candidates[-1]
        lines = [f"one of {len(found.candidates)} commits changed {found.metric}; those before it do not run:"]
        lines += [f"  {commit.short}  {commit.subject}" for commit in found.candidates]
        lines += [f"{last.short} is known to differ from {found.last_same.short}"]
    for change in found.changes:
        lines += _change(change)
    tried = f"{found.steps} steps over {found.commits} commits"
    lines.append(tried + (f", {len(found.untestable)} could not be tested" if found.untestable else ""))
    return visible_block(lines)


def _about(commit: Commit) -> list[str]:
    return [f"  {commit.author}, {format_day(commit.authored_at)}", f"  {commit.subject}"]


def _change(change: ChangedBenchmark) -> list[str]:
    metric = _METRICS[change.metric]
    relative = (change.after - change.before) / change.before if change.before else float("inf")
    values = f"{format_value(change.before, metric)} → {format_value(change.after, metric)}"
    lines = [f"{format_change(relative):>9}  {change.title}: {values}"]
    if change.verdict is not None:
        lines.append(f"           {change.verdict.judged.reason}")
    named = [f"{each.function} ({each.instructions_per_run:+,.0f})" for each in change.functions][:FUNCTIONS_SHOWN]
    return [*lines, f"           most in {', '.join(named)}"] if named else lines
