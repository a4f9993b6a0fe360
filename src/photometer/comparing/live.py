"""LiveComparison: start both sides, check them, measure them alternately until the verdicts are final, explain them.

    with LiveComparison(request, observer) as live:
        comparison = live.run()
        …  # its sides can still be started here

Each stage is a method, in the order in which they are called; `run` calls them all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
import uuid
from collections.abc import Callable
from types import TracebackType

from photometer.analysis.cause import InstructionChange, cause_sentence
from photometer.analysis.comparison_result import ComparisonRemarks, ComparisonResult, EnvironmentComparison
from photometer.analysis.guards import noise_warnings
from photometer.analysis.sweep_summary import JudgedPoint, summaries
from photometer.analysis.verdict import Verdict
from photometer.ci.acceptance import accept
from photometer.comparing.comparison_file import ComparisonFile, open_comparison, recording
from photometer.comparing.decide import DecidedSuite, decide
from photometer.comparing.explain import Explanation, explain
from photometer.comparing.kept_counts import KeptCounts
from photometer.comparing.memory import MemorySuite, measure_memory_of
from photometer.comparing.metrics import compare_metrics
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSide, StartedSides, failure_of, preflight
from photometer.comparing.request import ComparisonRequest, PlannedSuite
from photometer.environments.resolved import ResolvedEnvironment, resolve_environments
from photometer.environments.worktree import Worktrees
from photometer.errors import DefinitionError, ToolMissing
from photometer.execution.order_record import identified, task_spec_of
from photometer.instruments.callgrind.counter import SHOWS_FRAMES
from photometer.instruments.noise_watch import others_busy
from photometer.model.environment import Environment
from photometer.model.folder_lock import hold_folder
from photometer.model.records import to_record
from photometer.plan.work_order import WorkOrder, short_titles
from photometer.session.cores import quietest_core
from photometer.session.session import ServerKind, Session

LIMIT_REACHED = "the time limit was reached: causes were not looked for"
# Shown with the verdict of a benchmark on an accelerator.
DEVICE_TIME = "device time between events; it includes host time only if a statement waits for the device."


class LiveComparison:
    """Use as a context manager: the environments exist while the block runs."""

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
        self._memory = MemorySuite()
        self._began = time.monotonic()
        self._others_busy_share: float | None = None
        self.sides: StartedSides
        self._file: ComparisonFile

    def __enter__(self) -> LiveComparison:
        self._others_busy_share = others_busy()
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

    def run(self, on_decided: Callable[[EnvironmentComparison], object] = lambda _: None) -> EnvironmentComparison:
        """Run all stages. `on_decided` gets the verdicts as soon as they are final, before anything is explained."""
        if not len(self.planned.plan):
            return EnvironmentComparison(self._name(0), self._name(1), self.planned.plan.suite, ())
        checked = self.check()
        decided = self.decide(checked)
        self.measure_memory(checked)
        on_decided(self.compare(checked, decided, Explanation()))
        return self.conclude(checked, decided, self.explain(checked, decided))

    def check(self) -> CheckedPlan:
        """Run every benchmark once on both sides."""
        self.observer.stage("starting both sides")
        for side in self.sides:
            side.session.start_ahead([ServerKind()])
        if self.request.settings.instructions:
            # Importing torch takes 15 s under Valgrind: these servers start while everything else is prepared and
            # checked. All counts of a revision may have been kept before.
            with contextlib.suppress(ToolMissing):
                for side in self.sides:
                    if not KeptCounts.of(side.resolved).has_all(self.planned.plan):
                        side.session.start_ahead([SHOWS_FRAMES])
        return preflight(self.sides, self.planned, self._titles, self.observer)

    def decide(self, checked: CheckedPlan) -> DecidedSuite:
        """Count and measure until every verdict is final, or the budget or the limit is spent."""
        return decide(
            self.sides,
            checked,
            self.request.settings,
            self._titles,
            self._file,
            self._core,
            self.observer,
            seconds_left=self.seconds_left,
            others_busy_share=self._others_busy_share,
        )

    def measure_memory(self, checked: CheckedPlan) -> None:
        """Measure what one run allocates on both sides, even if both execute the same instructions."""
        if self.request.settings.memory and self.seconds_left() > 0.0:
            self._memory = measure_memory_of(self.sides, checked, self.observer)

    def explain(self, checked: CheckedPlan, decided: DecidedSuite) -> Explanation:
        """Find the code behind each change, and try it in other memory layouts, by time and by count."""
        if self.seconds_left() <= 0.0:
            return Explanation(warnings=(*decided.counted.warnings, LIMIT_REACHED))
        # Host addresses do not matter to an accelerator, and Valgrind sees only the host.
        changed = [order for order in decided.changed if not order.auto.on_device]
        layouts = self.request.settings.layouts
        found = explain(self.sides, checked, decided.counted, changed, layouts, self._file, self._core, self.observer)
        return dataclasses.replace(found, warnings=(*decided.counted.warnings, *found.warnings))

    def conclude(self, checked: CheckedPlan, decided: DecidedSuite, explanation: Explanation) -> EnvironmentComparison:
        """Combine the findings of all stages, and keep them."""
        comparison = self.compare(checked, decided, explanation)
        orders = {order.id: order for order in self.planned.plan}
        for result in comparison.results:
            # With the order and its code, so that a report can show what was compared.
            order = orders[result.order_id]
            record = {**to_record(result), "task_spec": to_record(task_spec_of(order))}
            self._file.keep(identified(record, order))
        self._file.keep_all(comparison.failures)
        self._file.keep(ComparisonRemarks(comparison.warnings))
        if self.seconds_left() <= 0.0:
            return comparison
        metrics = compare_metrics(self.sides, checked, self._titles, self.observer)
        self._file.keep_all(metrics)
        return dataclasses.replace(comparison, metrics=metrics)

    def compare(self, checked: CheckedPlan, decided: DecidedSuite, explanation: Explanation) -> EnvironmentComparison:
        """Return what is known so far."""
        gave_up = [
            failure_of(decided.orders[index].id, self._titles, "", error) for index, error in decided.failed.items()
        ]
        warnings = explanation.warnings or decided.counted.warnings
        comparison = EnvironmentComparison(
            base=self._name(0),
            branch=self._name(1),
            suite=self.planned.plan.suite,
            results=tuple(self._result(order, verdict, checked, explanation) for order, verdict in decided.judged),
            failures=(*checked.failures, *gave_up),
            not_reached=tuple(self._titles[order.id] for order in decided.not_reached),
            warnings=(*checked.warnings, *warnings, *self._memory.warnings, *noise_warnings(decided.noise)),
            margin=self.request.settings.common_margin,
            false_discovery_rate=self.request.settings.false_discovery_rate,
            measuring_seconds=decided.measuring_seconds,
            noise=decided.noise,
            sweeps=summaries(
                (_name_without_sizes(order), JudgedPoint(order.auto.sizes, verdict.verdict, verdict.ratio))
                for order, verdict in decided.judged
            ),
        )
        return accept(comparison, self.request.accepted)

    def seconds_left(self) -> float:
        """Return the seconds until the time limit of the whole comparison; infinite if there is none."""
        limit = self.request.settings.limit_seconds
        return math.inf if limit is None else self._began + limit - time.monotonic()

    def _result(
        self, order: WorkOrder, verdict: Verdict, checked: CheckedPlan, explanation: Explanation
    ) -> ComparisonResult:
        change: InstructionChange | None = explanation.counts.get(order.id)
        ratios = explanation.layout_ratios.get(order.id, ())
        cause = DEVICE_TIME if order.auto.on_device else cause_sentence(verdict, change, ratios)
        title, warnings = self._titles[order.id], checked.order_warnings[order.id]
        memory = self._memory.changes.get(order.id)
        return ComparisonResult(order.id, title, verdict, cause, change, ratios, warnings, memory)

    def _started(self, resolved: ResolvedEnvironment, stack: contextlib.ExitStack) -> StartedSide:
        return StartedSide(resolved, stack.enter_context(self._make_session(resolved.environment)))

    def _name(self, side: int) -> str:
        return self.sides[side].resolved.name

    def _description(self, base: ResolvedEnvironment, branch: ResolvedEnvironment) -> dict[str, object]:
        """Return what must be the same to resume a comparison, and the criteria of its verdicts."""
        return {
            "id": uuid.uuid4().hex,
            "base": base.identity(),
            "branch": branch.identity(),
            "suite": self.planned.plan.suite,
            "fingerprint": self.planned.plan.fingerprint,
            "margin": self.request.settings.common_margin,
            "false_discovery_rate": self.request.settings.false_discovery_rate,
        }


def _name_without_sizes(order: WorkOrder) -> str:
    words = dataclasses.replace(order.auto, sizes=()).unusual_words()
    return " › ".join(order.label) + (f" [{', '.join(words)}]" if words else "")
