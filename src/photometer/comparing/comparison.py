"""Comparison: start the sides, check them, count and measure them alternately until the verdicts are final, explain.

    with Comparison(EnvironmentSource(request), request.settings, request.destination) as comparison:
        result = comparison.run()
        …  # the sides can still be started here

Any number of sides, of any source (source.py); the first is the reference. Each stage is a method, in the order in
which `run` calls them. The larger stages have a file beside this one; memory and custom metrics are measured here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from photometer.analysis.cause import cause_sentence
from photometer.analysis.comparison_result import (
    ComparisonRemarks,
    ComparisonResult,
    EnvironmentComparison,
    not_reached_on,
)
from photometer.analysis.figure_change import MemoryChange, MetricChange, judge_metric, memory_change
from photometer.analysis.guards import noise_warnings
from photometer.analysis.sweep_summary import JudgedPoint, SweepSummary, summaries
from photometer.ci.acceptance import Acceptance, accept
from photometer.comparing.comparison_file import ComparisonFile, Destination
from photometer.comparing.counts import CountedSuite, SideOutcome, count_sides, countable
from photometer.comparing.decide import DecidedSuite, decide
from photometer.comparing.exact_figures import ExactSuite, compare_exactly, located
from photometer.comparing.explain import Explainer, Explanation
from photometer.comparing.request import ComparisonSettings
from photometer.comparing.source import CheckedPlan, Contest, Observer, Source, StartedSide, failure_of
from photometer.errors import PhotometerError
from photometer.execution.run_file import identified
from photometer.instruments.declaration import Asked
from photometer.instruments.memory import take_memory
from photometer.instruments.noise_watch import others_busy
from photometer.instruments.observed import observe_metrics
from photometer.instruments.ready_order import ReadyOrder, task_spec_of
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.records import to_record
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.cores import quietest_core


def compare_metrics(
    sides: Sequence[StartedSide], checked: CheckedPlan, titles: Mapping[str, str], observer: Observer
) -> tuple[MetricChange, ...]:
    """Return the change of every metric against the reference, except those that cannot be read on a side."""
    wanted = [order for order in checked.orders if order.figures is not None and order.figures.metrics]
    if wanted:
        observer.stage("reading metrics")
    changes: list[MetricChange] = []
    for done, order in enumerate(wanted, start=1):
        try:
            values = {place: _values(sides[place], ready) for place, ready in sorted(checked.ready[order.id].items())}
        except PhotometerError:
            # It has run on all sides; what fails now is a metric that is not a number, which `run` reports.
            continue
        assert order.figures is not None
        for place in (place for place in values if place):
            for name, ours, theirs in zip(order.figures.metrics, values[0], values[place], strict=True):
                changes.append(judge_metric(order.id, titles[order.id], name, ours, theirs, place))
        observer.step(done, len(wanted))
    return tuple(changes)


def _values(side: StartedSide, ready: ReadyOrder) -> list[tuple[float, ...]]:
    return [metric.values for metric in observe_metrics(side.session, Asked(ready)).metrics]


@dataclasses.dataclass(frozen=True)
class MemorySuite:
    """Memory of one run, by order id and position of the side; `warnings` say what could not be measured."""

    uses: Mapping[tuple[str, int], MemoryMeasurement] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    errors: tuple[PhotometerError, ...] = ()

    def change(self, order_id: str, place: int) -> MemoryChange | None:
        """Return the change of a side against the reference, if both were measured."""
        base, branch = self.uses.get((order_id, 0)), self.uses.get((order_id, place))
        return None if base is None or branch is None else memory_change(base, branch)


def measure_memory_of(sides: Sequence[StartedSide], checked: CheckedPlan, observer: Observer) -> MemorySuite:
    """Measure the memory of one run of every order on every side where it runs."""
    observer.stage("measuring memory")
    uses: dict[tuple[str, int], MemoryMeasurement] = {}
    errors: list[PhotometerError] = []
    for done, order in enumerate(checked.orders, start=1):
        try:
            for place, ready in sorted(checked.ready[order.id].items()):
                uses[order.id, place] = take_memory(sides[place].session, ready)
        except PhotometerError as error:
            # It ran before: timing it will show what is wrong.
            errors.append(error)
        observer.step(done, len(checked.orders))
    lacking = "1 benchmark" if len(errors) == 1 else f"{len(errors)} benchmarks"
    return MemorySuite(uses, (f"the memory of {lacking} could not be measured",) if errors else (), tuple(errors))


STOPPED_EARLY = "stopped early: this is what was known by then"
LIMIT_REACHED = "the time limit was reached before the causes were searched"
# Shown with the verdict of a benchmark on an accelerator.
DEVICE_TIME = "device time between events; it includes host time only if a statement waits for the device."


@dataclasses.dataclass(frozen=True)
class Findings:
    """What the stages have found so far."""

    checked: CheckedPlan
    decided: DecidedSuite
    memory: MemorySuite = MemorySuite()
    explanation: Explanation = Explanation()  # noqa: RUF009 - frozen, so sharing it is safe
    exact: ExactSuite = ExactSuite()  # noqa: RUF009 - frozen, so sharing it is safe

    @property
    def counted(self) -> CountedSuite:
        return self.decided.counted


class ComparisonStopped(KeyboardInterrupt):
    """A signal such as Ctrl-C stopped the comparison; `comparison` holds what was known by then."""

    def __init__(self, comparison: EnvironmentComparison) -> None:
        super().__init__()
        self.comparison = comparison


class Comparison:
    """Use as a context manager: the sides exist while the block runs."""

    def __init__(
        self,
        source: Source,
        settings: ComparisonSettings,
        destination: Destination | None = None,
        observer: Observer | None = None,
        *,
        accepted: tuple[Acceptance, ...] = (),
    ) -> None:
        self._source = source
        self.settings = settings
        self.observer = observer or Observer()
        self._destination = destination or Destination()
        self.accepted = accepted
        self._open = contextlib.ExitStack()
        self._core = quietest_core()
        self._began = time.monotonic()
        self._others_busy_share: float | None = None
        self.sides: tuple[StartedSide, ...] = ()
        self.file = ComparisonFile()
        # Of all orders so far: a source may be run again, with others.
        self._remarks: dict[str, None] = {}

    def __enter__(self) -> Comparison:
        self._destination.check()
        if self.settings.instructions:
            # Later, our own counting is among the load.
            self._others_busy_share = others_busy()
        with contextlib.ExitStack() as stack:
            self.sides = self._source.open(stack, self.observer)
            self.file = self._destination.open(self._source.header(self.sides), stack)
            self._open = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, value, trace)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(side.name for side in self.sides)

    @property
    def plan(self) -> WorkOrders:
        return self._source.plan()

    def run(self, on_decided: Callable[[EnvironmentComparison], object] = lambda _: None) -> EnvironmentComparison:
        """Run all stages.

        `on_decided` gets the verdicts as soon as they are final, before anything is explained. Raise ComparisonStopped
        if a signal ends the comparison after something is known, which is then kept in the file.
        """
        if not len(self.plan):
            return EnvironmentComparison(self.names, self.plan.suite, ())
        checked = self.check()
        exact = self.measure_exactly(checked)
        found = Findings(checked, self.decide(checked, exact), exact=exact)
        try:
            if found.decided.stopped:
                raise KeyboardInterrupt
            found = dataclasses.replace(found, memory=self.measure_memory(checked))
            on_decided(self.result(found))
            found = dataclasses.replace(found, explanation=self.explain(found), exact=self.locate(found))
        except KeyboardInterrupt as stop:
            result = self.result(found)
            result = dataclasses.replace(result, warnings=(*result.warnings, STOPPED_EARLY))
            self._keep(result)
            raise ComparisonStopped(result) from stop
        return self.conclude(found)

    def check(self) -> CheckedPlan:
        """Run every benchmark once on every side."""
        return self._source.check(self.sides, self.observer)

    def decide(self, checked: CheckedPlan, exact: ExactSuite = ExactSuite()) -> DecidedSuite:  # noqa: B008 - frozen
        """Count and measure until every verdict is final, or the budget or the limit is spent."""
        return decide(
            self.sides,
            checked,
            self.settings,
            self._source.titles(),
            self.file,
            self._core,
            self.observer,
            seconds_left=self.seconds_left,
            others_busy_share=self._others_busy_share,
            exact=exact,
        )

    def count(self, checked: CheckedPlan) -> CountedSuite:
        """Count instructions alone, without timing. Raise the error of an order that cannot be counted."""
        self.observer.stage("counting instructions")
        errors: list[PhotometerError] = []

        def on_count(order_id: str, place: int, outcome: SideOutcome) -> None:
            if isinstance(outcome, PhotometerError):
                errors.append(outcome)

        counted = count_sides(self.sides, checked, countable(checked), python_frames=False, on_count=on_count)
        for error in errors:
            raise error
        return counted

    def measure_memory(self, checked: CheckedPlan) -> MemorySuite:
        """Measure the memory of one run on every side, even if all execute the same instructions."""
        if not self.settings.memory or not checked.orders or self.seconds_left() <= 0.0:
            return MemorySuite()
        if any(not side.session.facts().torch for side in self.sides):
            # What a run allocates is what torch's allocator reports.
            return MemorySuite()
        return measure_memory_of(self.sides, checked, self.observer)

    def measure_exactly(self, checked: CheckedPlan) -> ExactSuite:
        """Measure the other requested exact figures, on every side."""
        if self.seconds_left() <= 0.0:
            return ExactSuite()
        return compare_exactly(self.sides, checked, self.settings.options, self.observer)

    def locate(self, found: Findings) -> ExactSuite:
        """Find the code behind exact figures of benchmarks whose time changed and whose instructions did not."""
        if self.seconds_left() <= 0.0:
            return found.exact
        verdicts = {
            (order.id, place): found.decided.verdicts[order.id, Contest(0, place)].verdict
            for place in range(1, len(self.sides))
            for order in found.decided.changed(place)
            if (order.id, place) not in found.counted.against_reference()
            or not found.counted.change(order.id, place).has_changed
        }
        return located(found.exact, verdicts, self.sides, found.checked, self.observer)

    def explain(self, found: Findings) -> Explanation:
        """Find the code behind each change, and time and count it in other memory layouts."""
        counted = found.counted
        # Host addresses do not matter to an accelerator, and Valgrind sees only the host.
        changed = {
            order.id: order
            for place in range(1, len(self.sides))
            for order in found.decided.changed(place)
            if not order.auto.on_device
        }
        if self.seconds_left() <= 0.0:
            return Explanation(warnings=(*counted.warnings, *([LIMIT_REACHED] if changed else [])))
        explainer = Explainer(self.sides, found.checked, counted, self.file, self._core, self.observer)
        explained = explainer.explain(list(changed.values()), self.settings.layouts)
        return dataclasses.replace(explained, warnings=(*counted.warnings, *explained.warnings))

    def conclude(self, found: Findings) -> EnvironmentComparison:
        """Combine the findings of all stages, read the metrics, and keep everything."""
        result = self.result(found)
        self._keep(result)
        if self.seconds_left() <= 0.0:
            return result
        metrics = compare_metrics(self.sides, found.checked, self._source.titles(), self.observer)
        self.file.keep_all(metrics)
        return dataclasses.replace(result, metrics=metrics)

    def _keep(self, result: EnvironmentComparison) -> None:
        orders = {order.id: order for order in self.plan}
        for each in result.results:
            # With the order and its code, so that a report can show what was compared.
            order = orders[each.order_id]
            self.file.keep(identified({**to_record(each), "task_spec": to_record(task_spec_of(order))}, order))
        self.file.keep_all((*result.failures, *result.skips))
        self._remarks |= dict.fromkeys(result.warnings)
        self.file.keep(ComparisonRemarks(tuple(self._remarks)))

    def result(self, found: Findings) -> EnvironmentComparison:
        """Return what is known so far."""
        decided, titles = found.decided, self._source.titles()
        gave_up = [
            failure_of(order_id, titles[order_id], self.names, None, error)
            for order_id, error in decided.failed.items()
        ]
        warnings = found.explanation.warnings or decided.counted.warnings
        not_reached = tuple(self._not_reached(found))
        result = EnvironmentComparison(
            names=self.names,
            suite=self.plan.suite,
            results=tuple(
                self._result(order, place, found)
                for order in decided.orders
                for place in range(1, len(self.sides))
                if (order.id, Contest(0, place)) in decided.verdicts
            ),
            failures=(*found.checked.failures, *gave_up),
            skips=found.checked.skips,
            not_reached=not_reached,
            warnings=(
                *self._limit_warnings(not_reached),
                *found.checked.warnings,
                *warnings,
                *found.memory.warnings,
                *found.exact.warnings,
                *noise_warnings(decided.noise),
            ),
            margin=self.settings.common_margin,
            false_discovery_rate=self.settings.false_discovery_rate,
            measuring_seconds=decided.measuring_seconds,
            noise=decided.noise,
            sweeps=self._sweeps(decided),
        )
        return accept(result, self.accepted)

    def seconds_left(self) -> float:
        """Return the seconds until the time limit of the whole comparison; infinite if there is none."""
        limit = self.settings.limit_seconds
        return math.inf if limit is None else self._began + limit - time.monotonic()

    def _result(self, order: WorkOrder, place: int, found: Findings) -> ComparisonResult:
        key, explanation = (order.id, place), found.explanation
        verdict = found.decided.verdicts[order.id, Contest(0, place)]
        before = found.checked.before(order.id, place)
        change = explanation.counts.get(key)
        ratios = explanation.layout_ratios.get(key, ())
        figures = found.exact.of(*key)
        return ComparisonResult(
            order.id,
            self._source.titles()[order.id],
            verdict,
            DEVICE_TIME if order.auto.on_device else cause_sentence(verdict, change, ratios, figures),
            change,
            ratios,
            found.checked.order_warnings.get(key, ()),
            found.memory.change(order.id, place),
            figures=figures,
            side=place,
            before=before,
            step=found.decided.verdicts.get((order.id, Contest(before, place))) if before else None,
        )

    def _not_reached(self, found: Findings) -> list[str]:
        titles, decided = self._source.titles(), found.decided
        missing = [
            (order, place)
            for order in decided.orders
            if order.id not in decided.failed
            for place in found.checked.places(order.id)[1:]
            if (order.id, Contest(0, place)) not in decided.verdicts
        ]
        missing += [(order, place) for order in found.checked.not_reached for place in range(1, len(self.sides))]
        return [
            titles[order.id] + ("" if len(self.sides) == 2 else not_reached_on(self.names[place]))
            for order, place in missing
        ]

    def _limit_warnings(self, not_reached: Sequence[str]) -> tuple[str, ...]:
        """Return what was left out because of the time limit."""
        limit = self.settings.limit_seconds
        if limit is None or not not_reached or self.seconds_left() > 0.0:
            return ()
        return (f"the time limit of {limit:g} s, which includes making and checking the sides, was reached",)

    def _sweeps(self, decided: DecidedSuite) -> tuple[SweepSummary, ...]:
        found: list[SweepSummary] = []
        for place in range(1, len(self.sides)):
            judged = [(order, decided.verdicts.get((order.id, Contest(0, place)))) for order in decided.orders]
            points = [
                (order.name.sweep_title, JudgedPoint(order.auto.sizes, verdict.verdict, verdict.ratio))
                for order, verdict in judged
                if verdict is not None
            ]
            found += summaries(points, place)
        return tuple(found)
