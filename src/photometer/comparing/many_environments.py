"""ManySides: compare a suite in many environments at once, the first being the reference: where did it change?

    with ManySides(request, observer) as many:
        matrix = many.run()

All sides of a benchmark are measured in the same replicates, so each is compared with the reference and with the side
before it from the same blocks: the first comparison says how much changed, the second at which step. The stages, the
loop, the judge and the counting are those of a comparison of two.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from photometer.analysis.guards import noise_warnings
from photometer.analysis.judge import IDENTICAL_REPLICATES, judge_identical
from photometer.analysis.matrix_result import MatrixCell, MatrixComparison, MatrixRow
from photometer.analysis.suite_judge import SuiteJudge
from photometer.analysis.verdict import Verdict
from photometer.analysis.verdict_reason import reason_for_identical, reason_for_not_timed
from photometer.comparing.contests import BenchmarkSides, Contest, ManySidesSampler, contests_of
from photometer.comparing.many_counts import Counts, are_alike, change_of, count_many, ratio_of
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import SIDE_NAMES, CheckedPlan, StartedSide, preflight
from photometer.comparing.request import ComparisonSettings, EnvironmentLike, PlannedSuite, spec_of
from photometer.comparing.verdict_loop import Sample, run_to_verdicts
from photometer.environments.resolved import resolve_environments
from photometer.environments.worktree import Worktrees
from photometer.errors import DefinitionError, PhotometerError, ToolMissing, WorkerError
from photometer.execution.compile_order import preparation_of
from photometer.execution.executor import ReadyOrder
from photometer.instruments.noise_watch import NoiseWatch
from photometer.instruments.replicate import REPLICATE_SECONDS, Side
from photometer.model.environment import Environment
from photometer.model.machine import MachineNoise
from photometer.plan.work_order import WorkOrder, short_titles
from photometer.session.cores import quietest_core
from photometer.session.session import Session


@dataclasses.dataclass(frozen=True)
class ManySidesRequest:
    """What to compare: the sides, the reference first, and how."""

    sides: Sequence[EnvironmentLike]
    planned: PlannedSuite
    settings: ComparisonSettings = dataclasses.field(default_factory=ComparisonSettings)
    install: str | None = None

    def __post_init__(self) -> None:
        if len(self.sides) < 2:
            raise DefinitionError("there is only one side", remedy="Give the reference and at least one other side.")


@dataclasses.dataclass(frozen=True)
class _Checked:
    """What runs where: by order and position, what is ready on the sides where it ran, and why not on the others."""

    orders: tuple[WorkOrder, ...]
    ready: Mapping[str, Mapping[int, ReadyOrder]]
    failures: Mapping[tuple[str, int], str]
    warnings: tuple[str, ...]
    order_warnings: Mapping[str, tuple[str, ...]]


@dataclasses.dataclass(frozen=True)
class _Measured:
    """The verdict of each contest, by order and contest, and the outcome of the loop."""

    verdicts: Mapping[tuple[str, Contest], Verdict]
    failed: Mapping[str, str]
    measuring_seconds: float
    noise: MachineNoise


class ManySides:
    """Use as a context manager: the environments exist while the block runs."""

    def __init__(
        self,
        request: ManySidesRequest,
        observer: Observer | None = None,
        *,
        make_session: Callable[[Environment], Session] = Session,
    ) -> None:
        self.request = request
        self._make_session = make_session
        self.observer = observer or Observer()
        self.sides: tuple[StartedSide, ...] = ()
        self._titles = short_titles(request.planned.plan.orders)
        self._core = quietest_core()
        self._began = time.monotonic()
        self._open = contextlib.ExitStack()

    def __enter__(self) -> ManySides:
        specs = [spec_of(side) for side in self.request.sides]
        with contextlib.ExitStack() as stack:
            worktrees = stack.enter_context(Worktrees())
            self.observer.stage(f"making {len(specs)} environments")
            resolved = resolve_environments(specs, worktrees, install=self.request.install)
            self.sides = tuple(
                StartedSide(each, stack.enter_context(self._make_session(each.environment))) for each in resolved
            )
            self._open = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, value, trace)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(side.resolved.name for side in self.sides)

    def run(self) -> MatrixComparison:
        """Check, count, measure, and combine the findings."""
        checked = self._check()
        counts, warnings = self._count(checked)
        measured = self._measure(checked, counts)
        settings = self.request.settings
        return MatrixComparison(
            names=self.names,
            suite=self.request.planned.plan.suite,
            rows=tuple(self._row(order, checked, counts, measured) for order in self.request.planned.plan),
            warnings=(*checked.warnings, *warnings, *noise_warnings(measured.noise)),
            margin=settings.common_margin,
            false_discovery_rate=settings.false_discovery_rate,
            measuring_seconds=measured.measuring_seconds,
            noise=measured.noise,
        )

    def _check(self) -> _Checked:
        """Run every benchmark once on every side, each beside the reference: results must agree."""
        planned = self.request.planned
        self.observer.stage(f"starting {len(self.sides)} sides")
        with ThreadPoolExecutor(len(self.sides)) as threads:
            list(threads.map(lambda side: side.session.facts(), self.sides))
        plans = []
        for place, side in enumerate(self.sides[1:], start=1):
            self.observer.stage(f"side {place} of {len(self.sides) - 1}: {side.resolved.name}")
            plans.append(preflight((self.sides[0], side), planned, self._titles, self.observer))
        ready: dict[str, dict[int, ReadyOrder]] = {}
        failures: dict[tuple[str, int], str] = {}
        for place, plan in enumerate(plans, start=1):
            for failure in plan.failures:
                failures[failure.order_id, 0 if failure.side == SIDE_NAMES[0] else place] = failure.message
            for order in plan.orders:
                reference, other = (prepared.ready[order.id] for prepared in plan.prepared)
                ready.setdefault(order.id, {0: reference})[place] = other
        return _Checked(
            tuple(order for order in planned.plan if order.id in ready),
            ready,
            failures,
            self._warnings(plans),
            {order.id: _once(plan.order_warnings.get(order.id, ()) for plan in plans) for order in planned.plan},
        )

    def _warnings(self, plans: Sequence[CheckedPlan]) -> tuple[str, ...]:
        """Return the warnings of each pair, with the name of its side; different versions are intended here."""
        seen: dict[str, list[str]] = {}
        for side, plan in zip(self.sides[1:], plans, strict=True):
            for warning in plan.warnings:
                if not warning.startswith("torch differs"):
                    seen.setdefault(warning, []).append(side.resolved.name)
        everywhere = len(self.sides) - 1
        return tuple(
            warning if len(names) == everywhere else f"{', '.join(names)}: {warning}" for warning, names in seen.items()
        )

    def _count(self, checked: _Checked) -> tuple[Counts, tuple[str, ...]]:
        orders = [order.id for order in checked.orders if order.counts_instructions and not order.auto.on_device]
        if not self.request.settings.instructions or not orders:
            return {}, ()
        self.observer.stage(f"counting instructions on {len(self.sides)} sides")
        ready = {order_id: checked.ready[order_id] for order_id in orders}
        try:
            return count_many(self.sides, ready, self.observer), ()
        except (ToolMissing, WorkerError) as error:
            return {}, (f"instructions were not counted: {error.message}",)

    def _measure(self, checked: _Checked, counts: Counts) -> _Measured:
        """Take replicates of all sides until every contest is decided, or the budget or the time is spent."""
        orders, contests = checked.orders, contests_of(len(self.sides))
        benchmarks = [self._benchmark(checked, order) for order in orders]
        possible = {
            index * len(contests) + number: found
            for index, benchmark in enumerate(benchmarks)
            for number, wanted in enumerate(contests)
            if (found := benchmark.contest(wanted)) is not None
        }
        watch = NoiseWatch(self._core)
        if self.request.settings.time == "none":
            untimed = self._untimed(orders, possible, len(contests), counts)
            return _Measured(untimed, {}, 0.0, watch.noise())
        sampler = ManySidesSampler(benchmarks, len(self.sides), core=self._core)
        judge = self._judge(orders, len(contests))
        for contest in set(range(len(orders) * len(contests))) - possible.keys():
            judge.give_up(contest)
        watch.wait_for_quiet()
        identical, looked = self._look_at_identical(orders, possible, len(contests), counts, sampler)
        for contest in identical:
            judge.give_up(contest)
        self.observer.stage("measuring")
        # With two sides a benchmark gets ten seconds; more sides share each replicate.
        settings = self.request.settings
        budget = settings.budget_for(len(orders)) * (1.0 if settings.budget_seconds else len(self.sides) / 2)

        def on_verdict(contest: int, verdict: Verdict, spent_seconds: float) -> None:
            watch.look()
            self.observer.replicate(self._titles[orders[contest // len(contests)].id], verdict, spent_seconds, budget)

        outcome = run_to_verdicts(
            len(orders),
            sampler,
            judge,
            budget_seconds=budget,
            others=len(contests),
            known=looked,
            retries=lambda index: orders[index].retries,
            on_verdict=on_verdict,
            wall_seconds_left=self._seconds_left,
        )
        verdicts = {**dict(enumerate(judge.verdicts())), **identical}
        return _Measured(
            {
                (orders[place // len(contests)].id, possible[place]): verdict
                for place, verdict in verdicts.items()
                if verdict is not None and place in possible
            },
            {orders[index].id: error.message for index, error in outcome.failed.items()},
            outcome.measuring_seconds,
            watch.noise(),
        )

    def _judge(self, orders: Sequence[WorkOrder], contests: int) -> SuiteJudge:
        settings = self.request.settings
        return SuiteJudge(
            len(orders) * contests,
            settings.criteria,
            rate=settings.false_discovery_rate,
            seconds_per_replicate=REPLICATE_SECONDS * len(self.sides) / 2,
            margins=[settings.margin_of(order) for order in orders for _ in range(contests)],
            most_seconds_each=settings.most_seconds_each,
        )

    def _untimed(
        self, orders: Sequence[WorkOrder], possible: Mapping[int, Contest], contests: int, counts: Counts
    ) -> dict[tuple[str, Contest], Verdict]:
        """Return the verdicts from counts alone."""
        found = {}
        for place, pair in possible.items():
            order = orders[place // contests]
            ratio = ratio_of(order, pair, counts)
            if ratio is None:
                continue
            alike = are_alike(order, pair, counts)
            per_run = counts[order.id, pair.first].counts.outside_allocator_per_run
            reason = reason_for_identical(per_run, 0) if alike else reason_for_not_timed(ratio)
            margin = self.request.settings.margin_of(order)
            found[order.id, pair] = Verdict.untimed("identical" if alike else "undecided", reason, margin)
        return found

    def _seconds_left(self) -> float:
        limit = self.request.settings.limit_seconds
        return math.inf if limit is None else self._began + limit - time.monotonic()

    def _benchmark(self, checked: _Checked, order: WorkOrder) -> BenchmarkSides:
        sides = {
            place: Side(self.sides[place].session, preparation_of(self.sides[place].session, ready, device_time=True))
            for place, ready in sorted(checked.ready[order.id].items())
        }
        return BenchmarkSides(sides, order.timeout_seconds)

    def _look_at_identical(
        self,
        orders: Sequence[WorkOrder],
        possible: Mapping[int, Contest],
        contests: int,
        counts: Counts,
        sampler: ManySidesSampler,
    ) -> tuple[dict[int, Verdict], list[Sample]]:
        """Return the verdicts of contests that execute the same instructions in the same time, and what was sampled."""
        alike = {
            place: pair
            for place, pair in possible.items()
            if self.request.settings.time != "all" and are_alike(orders[place // contests], pair, counts)
        }
        verdicts: dict[int, Verdict] = {}
        looked: list[Sample] = []
        benchmarks = sorted({place // contests for place in alike})
        if benchmarks:
            self.observer.stage("timing benchmarks with the same instructions briefly")
        for done, benchmark in enumerate(benchmarks, start=1):
            try:
                samples = [sampler.sample(benchmark, turn) for turn in range(IDENTICAL_REPLICATES)]
            except PhotometerError:
                # It is timed like the others below, with retries and error handling.
                continue
            looked += samples
            for place in (place for place in alike if place // contests == benchmark):
                estimates = [sample.estimates[place % contests] for sample in samples]
                counted = counts[orders[benchmark].id, alike[place].first].counts
                verdict = judge_identical(estimates, counted.outside_allocator_per_run, self.request.settings.criteria)
                if verdict is not None:
                    verdicts[place] = verdict
            self.observer.step(done, len(benchmarks))
        return verdicts, looked

    def _row(self, order: WorkOrder, checked: _Checked, counts: Counts, measured: _Measured) -> MatrixRow:
        there = checked.ready.get(order.id, {})
        cells = []
        for place in range(1, len(self.sides)):
            before = max((other for other in there if other < place), default=0)
            judged = measured.verdicts.get((order.id, Contest(0, place)))
            step = judged if before == 0 else measured.verdicts.get((order.id, Contest(before, place)))
            failure = checked.failures.get((order.id, place), measured.failed.get(order.id, ""))
            cells.append(MatrixCell(place, judged, before, step, change_of(order, place, counts), failure))
        failure = checked.failures.get((order.id, 0), "")
        return MatrixRow(order.id, self._titles[order.id], tuple(cells), failure, checked.order_warnings[order.id])


def compare_many(request: ManySidesRequest, observer: Observer | None = None) -> MatrixComparison:
    """Create the environments, compare them, and return the whole table."""
    with ManySides(request, observer) as many:
        return many.run()


def _once(several: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return all texts, each once, in the order first seen."""
    return tuple(dict.fromkeys(text for texts in several for text in texts))
