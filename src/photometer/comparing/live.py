"""LiveComparison: both sides started, checked, measured in alternation until the verdicts stand, and explained.

    with LiveComparison(request, observer) as live:
        comparison = live.run()
        …  # its sides can still be started here

Each stage is a method, in the order in which they are called; `run` calls them all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics
import uuid
from collections.abc import Callable, Mapping
from types import TracebackType

from photometer.analysis.cause import InstructionChange, cause_sentence
from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.guards import noise_warnings
from photometer.analysis.judge import judge_replicates
from photometer.analysis.suite_judge import SuiteJudge
from photometer.analysis.sweep_summary import JudgedPoint, summaries
from photometer.analysis.verdict import Verdict
from photometer.analysis.verdict_reason import reason_for_identical
from photometer.comparing.comparison_file import ComparisonFile, open_comparison, recording
from photometer.comparing.counts import CountedSuite, count_suite
from photometer.comparing.explain import Explanation, explain
from photometer.comparing.fork_sampler import ForkSampler, estimated, replicate_record
from photometer.comparing.metrics import compare_metrics
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSide, StartedSides, failure_of, preflight
from photometer.comparing.request import ComparisonRequest, PlannedSuite
from photometer.comparing.verdict_loop import Sample, run_to_verdicts
from photometer.environments.resolved import ResolvedEnvironment, resolve_environments
from photometer.environments.worktree import Worktrees
from photometer.errors import DefinitionError, PhotometerError, ToolMissing
from photometer.execution.order_record import identified, task_spec_of
from photometer.instruments.callgrind.counter import SHOWS_FRAMES
from photometer.instruments.noise_watch import NoiseWatch
from photometer.instruments.replicate import REPLICATE_SECONDS
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.environment import Environment
from photometer.model.folder_lock import hold_folder
from photometer.model.machine import MachineNoise
from photometer.model.records import to_record
from photometer.plan.work_order import WorkOrder, short_titles
from photometer.session.cores import quietest_core
from photometer.session.session import ServerKind, Session

# Replicates that show whether what executes the same instructions takes the same time: two may both be strays.
IDENTICAL_REPLICATES = 3
# Memory layouts alone move a single replicate by a few per cent; more is worth a full measurement.
APART = 0.05
# What the times of an accelerator's benchmark are, said with its verdict.
DEVICE_TIME = "device time between events; the host's part is in it only if a statement waits for the device."


@dataclasses.dataclass(frozen=True)
class MeasuredSuite:
    """What the loop left: a verdict (or none) per order, in their order, and who was given up."""

    orders: tuple[WorkOrder, ...]
    verdicts: tuple[Verdict | None, ...]
    failed: Mapping[int, PhotometerError]
    measuring_seconds: float
    noise: MachineNoise

    @property
    def judged(self) -> list[tuple[WorkOrder, Verdict]]:
        both = zip(self.orders, self.verdicts, strict=True)
        return [(order, verdict) for order, verdict in both if verdict is not None]

    @property
    def changed(self) -> list[WorkOrder]:
        return [order for order, verdict in self.judged if verdict.verdict in ("slower", "faster")]

    @property
    def not_reached(self) -> list[WorkOrder]:
        open_ones = [index for index, verdict in enumerate(self.verdicts) if verdict is None]
        return [self.orders[index] for index in open_ones if index not in self.failed]


class LiveComparison:
    """Use as a context manager: environments are made when it is entered, and gone when it is left."""

    def __init__(
        self,
        request: ComparisonRequest,
        observer: Observer | None = None,
        *,
        make_session: Callable[[Environment], Session] = Session,
    ) -> None:
        if request.planned is None:
            raise DefinitionError("no suite is given", remedy="Name what to run: --suite SUITE.")
        self.request = request
        self.planned: PlannedSuite = request.planned
        self.observer = observer or Observer()
        self._make_session = make_session
        self._titles = short_titles(self.planned.plan.orders)
        self._open = contextlib.ExitStack()
        self._core = quietest_core()
        self.sides: StartedSides
        self._file: ComparisonFile

    def __enter__(self) -> LiveComparison:
        with contextlib.ExitStack() as stack:
            worktrees = stack.enter_context(Worktrees())
            self.observer.stage("making both environments")
            base, branch = resolve_environments(self.request.specs, worktrees, install=self.request.install)
            if self.request.output is not None:
                stack.enter_context(hold_folder(self.request.output))
            description = self._description(base, branch)
            self._file = open_comparison(self.request.output, description, self.request.resume)
            if self.request.store is not None:
                self._file = recording(self._file, description, self.request.store)
                stack.enter_context(self._file.recorder or contextlib.nullcontext())
            self.sides = (self._started(base, stack), self._started(branch, stack))
            self._open = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, value, trace)

    def run(self) -> EnvironmentComparison:
        """Go through all stages."""
        if not len(self.planned.plan):
            return EnvironmentComparison(self._name(0), self._name(1), self.planned.plan.suite, ())
        checked = self.check()
        counted = self.count(checked)
        measured = self.measure(checked, counted)
        return self.conclude(checked, measured, self.explain(checked, counted, measured))

    def check(self) -> CheckedPlan:
        """Run every benchmark once on both sides."""
        self.observer.stage("starting both sides")
        for side in self.sides:
            side.session.start_ahead([ServerKind()])
        if self.request.settings.instructions:
            # Importing torch takes 15 s under Valgrind: they come up while everything else is prepared and checked.
            with contextlib.suppress(ToolMissing):
                for side in self.sides:
                    side.session.start_ahead([SHOWS_FRAMES])
        return preflight(self.sides, self.planned, self._titles, self.observer)

    def count(self, checked: CheckedPlan) -> CountedSuite:
        """Count the instructions of both sides: they decide whether anything changed, on a busy machine too."""
        return count_suite(self.sides, checked, self.observer) if self.request.settings.instructions else CountedSuite()

    def measure(self, checked: CheckedPlan, counted: CountedSuite) -> MeasuredSuite:
        """Take replicate after replicate until every verdict stands or the budget is spent.

        What executes the same instructions gets a short look at its time: counts are blind to waiting, to a colder
        cache, to denormals. Only if the sides are apart is it timed like the others.
        """
        identical: dict[int, Verdict] = {}
        if self.request.settings.time != "all":
            identical = self._check_identical(checked, counted)
        timed = [order for index, order in enumerate(checked.orders) if index not in identical]
        return self._measure(dataclasses.replace(checked, orders=tuple(timed)), checked.orders, identical)

    def _check_identical(self, checked: CheckedPlan, counted: CountedSuite) -> dict[int, Verdict]:
        """Return the verdicts of orders that execute the same instructions in the same time, by their place."""
        places = [index for index, order in enumerate(checked.orders) if counted.is_identical(order)]
        if places:
            self.observer.stage("a short look at the time of what executes the same instructions")
        sampler = ForkSampler(checked.contestants(self.sides, checked.orders), core=self._core)
        verdicts: dict[int, Verdict] = {}
        for done, index in enumerate(places, start=1):
            try:
                samples = [sampler.sample(index, turn).estimates[0] for turn in range(IDENTICAL_REPLICATES)]
            except PhotometerError:
                # It is timed like the others, where retries and the error have their place.
                continue
            if abs(statistics.median(sample.log_ratio for sample in samples)) <= math.log1p(APART):
                base = counted.sides[checked.orders[index].id][0].counts
                reason = reason_for_identical(base.outside_allocator_per_run, len(samples))
                judged = judge_replicates(samples, self.request.settings.criteria, forecast=False)
                verdicts[index] = dataclasses.replace(judged, verdict="identical", reason=reason, notes=())
            self.observer.step(done, len(places))
        return verdicts

    def _measure(
        self, checked: CheckedPlan, orders: tuple[WorkOrder, ...], identical: Mapping[int, Verdict]
    ) -> MeasuredSuite:
        self.observer.stage("measuring")
        watch = NoiseWatch(self._core)
        watch.wait_for_quiet()
        settings = self.request.settings
        budget = settings.budget_for(len(checked.orders))
        judge = SuiteJudge(
            len(checked.orders),
            settings.criteria,
            rate=settings.false_discovery_rate,
            seconds_per_replicate=REPLICATE_SECONDS,
        )
        sampler = RecordingSampler(self.sides, checked, self._file, core=self._core)

        def on_verdict(index: int, verdict: Verdict, spent_seconds: float) -> None:
            watch.look()
            self.observer.replicate(self._titles[checked.orders[index].id], verdict, spent_seconds, budget)

        outcome = run_to_verdicts(
            len(checked.orders),
            sampler,
            judge,
            budget_seconds=budget,
            known=sampler.known(),
            retries=lambda index: checked.orders[index].retries,
            on_verdict=on_verdict,
        )
        timed = iter(judge.verdicts())
        places = [index for index in range(len(orders)) if index not in identical]
        return MeasuredSuite(
            orders,
            tuple(identical[index] if index in identical else next(timed) for index in range(len(orders))),
            {places[index]: error for index, error in outcome.failed.items()},
            outcome.measuring_seconds,
            watch.noise(),
        )

    def explain(self, checked: CheckedPlan, counted: CountedSuite, measured: MeasuredSuite) -> Explanation:
        """Try what changed in other memory layouts, by time and by count."""
        # Where the host's memory lies does not matter to an accelerator, and Valgrind sees only the host.
        changed = [order for order in measured.changed if not order.auto.on_device]
        layouts = self.request.settings.layouts
        found = explain(self.sides, checked, counted, changed, layouts, self._file, self._core, self.observer)
        return dataclasses.replace(found, warnings=(*counted.warnings, *found.warnings))

    def conclude(
        self, checked: CheckedPlan, measured: MeasuredSuite, explanation: Explanation
    ) -> EnvironmentComparison:
        """Put together what all stages have found, and keep it."""
        results = tuple(self._result(order, verdict, checked, explanation) for order, verdict in measured.judged)
        gave_up = [
            failure_of(measured.orders[index].id, self._titles, "", error) for index, error in measured.failed.items()
        ]
        orders = {order.id: order for order in self.planned.plan}
        for result in results:
            # With the order and its code, so that a report can show what was compared.
            order = orders[result.order_id]
            record = {**to_record(result), "task_spec": to_record(task_spec_of(order))}
            self._file.keep(identified(record, order))
        self._file.keep_all((*checked.failures, *gave_up))
        metrics = compare_metrics(self.sides, checked, self._titles, self.observer)
        self._file.keep_all(metrics)
        return EnvironmentComparison(
            base=self._name(0),
            branch=self._name(1),
            suite=self.planned.plan.suite,
            results=results,
            failures=(*checked.failures, *gave_up),
            not_reached=tuple(self._titles[order.id] for order in measured.not_reached),
            warnings=(*checked.warnings, *explanation.warnings, *noise_warnings(measured.noise)),
            margin=self.request.settings.margin,
            false_discovery_rate=self.request.settings.false_discovery_rate,
            measuring_seconds=measured.measuring_seconds,
            noise=measured.noise,
            metrics=metrics,
            sweeps=summaries(
                (_name_without_sizes(order), JudgedPoint(order.auto.sizes, verdict.verdict, verdict.ratio))
                for order, verdict in measured.judged
            ),
        )

    def _result(
        self, order: WorkOrder, verdict: Verdict, checked: CheckedPlan, explanation: Explanation
    ) -> ComparisonResult:
        change: InstructionChange | None = explanation.counts.get(order.id)
        ratios = explanation.layout_ratios.get(order.id, ())
        cause = DEVICE_TIME if order.auto.on_device else cause_sentence(verdict, change, ratios)
        title, warnings = self._titles[order.id], checked.order_warnings[order.id]
        return ComparisonResult(order.id, title, verdict, cause, change, ratios, warnings)

    def _started(self, resolved: ResolvedEnvironment, stack: contextlib.ExitStack) -> StartedSide:
        return StartedSide(resolved, stack.enter_context(self._make_session(resolved.environment)))

    def _name(self, side: int) -> str:
        return self.sides[side].resolved.name

    def _description(self, base: ResolvedEnvironment, branch: ResolvedEnvironment) -> dict[str, object]:
        """Return what must be the same for a comparison to be resumed, and what it was judged by."""
        return {
            "id": uuid.uuid4().hex,
            "base": base.identity(),
            "branch": branch.identity(),
            "suite": self.planned.plan.suite,
            "fingerprint": self.planned.plan.fingerprint,
            "margin": self.request.settings.margin,
            "false_discovery_rate": self.request.settings.false_discovery_rate,
        }


def _name_without_sizes(order: WorkOrder) -> str:
    words = dataclasses.replace(order.auto, sizes=()).unusual_words()
    return " › ".join(order.label) + (f" [{', '.join(words)}]" if words else "")


class RecordingSampler:
    """Replicates of the orders of a suite; each is in the file before it is judged, so that a crash loses one."""

    def __init__(
        self,
        sides: StartedSides,
        checked: CheckedPlan,
        file: ComparisonFile,
        *,
        core: int | None = None,
    ) -> None:
        self._orders = checked.orders
        self._file = file
        self._forks = ForkSampler(checked.contestants(sides, checked.orders), core=core)

    def sample(self, benchmark: int, turn: int) -> Sample:
        taken = self._forks.take(benchmark, turn)
        replicate = replicate_record(self._orders[benchmark].id, taken)
        self._file.keep(replicate)
        return self._sample(benchmark, replicate)

    def known(self) -> list[Sample]:
        """Return the samples that an interrupted comparison has left."""
        places = {order.id: index for index, order in enumerate(self._orders)}
        return [
            self._sample(places[replicate.order_id], replicate)
            for replicate in self._file.replicates
            if replicate.layout == 0 and replicate.order_id in places
        ]

    def _sample(self, benchmark: int, replicate: ComparisonReplicate) -> Sample:
        # From the whole nanoseconds of the file: the same numbers, hence the same verdict, when it is resumed.
        sides = (replicate.base_seconds_per_run, replicate.branch_seconds_per_run)
        return estimated(benchmark, sides, replicate.measuring_seconds)
