"""A live comparison: both sides started, checked, then measured in alternation until the verdicts stand.

In: two resolved environments, a plan, settings, the file to keep replicates in. Out: an EnvironmentComparison.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from functools import partial
from typing import Any

from photometer.analysis.cause import InstructionChange, cause_sentence
from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.guards import noise_warnings
from photometer.analysis.suite_judge import SuiteJudge
from photometer.analysis.verdict import Verdict
from photometer.comparing.comparison_file import ComparisonFile
from photometer.comparing.explain import count_instructions, try_other_layouts
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, Sides, check_plan, failure_of
from photometer.comparing.settings import ComparisonSettings
from photometer.errors import PhotometerError
from photometer.execution.comparison_run import PairedOrder, run_comparison
from photometer.execution.duet_run import REPLICATE_SECONDS, DuetRun, quietest_core
from photometer.execution.order_record import identified, task_spec_of
from photometer.execution.paired_replicate import ReplicateTaker
from photometer.instruments.noise_watch import NoiseWatch
from photometer.model.machine_noise import MachineNoise
from photometer.plan import WorkOrders
from photometer.plan.short_titles import short_titles
from photometer.plan.work_order import WorkOrder
from photometer.session.fork_server import ForkServer

# What the times of an accelerator's benchmark are, said with its verdict.
DEVICE_TIME = "device time between events; the host's part is in it only where a statement waits for the device."


@dataclasses.dataclass(frozen=True)
class MeasuredSuite:
    """What the loop left: a verdict (or none) for each pair, in their order, and who was given up."""

    pairs: tuple[PairedOrder, ...]
    verdicts: tuple[Verdict | None, ...]
    failed: Mapping[int, PhotometerError]
    measuring_seconds: float
    noise: MachineNoise

    @property
    def judged(self) -> list[tuple[PairedOrder, Verdict]]:
        both = zip(self.pairs, self.verdicts, strict=True)
        return [(pair, verdict) for pair, verdict in both if verdict is not None]

    @property
    def changed(self) -> list[PairedOrder]:
        return [pair for pair, verdict in self.judged if verdict.verdict in ("slower", "faster")]

    @property
    def not_reached(self) -> list[PairedOrder]:
        open_ones = [index for index, verdict in enumerate(self.verdicts) if verdict is None]
        return [self.pairs[index] for index in open_ones if index not in self.failed]


def compare_live(
    sides: Sides,
    plan: WorkOrders,
    probes: Mapping[str, WorkOrder],
    settings: ComparisonSettings,
    file: ComparisonFile,
    observer: Observer,
) -> EnvironmentComparison:
    titles = short_titles(plan.orders)
    environments = (sides[0].environment, sides[1].environment)
    core = quietest_core()
    with DuetRun(*(partial(ForkServer, each, small_pages=True) for each in environments), core=core) as duet:
        observer.stage("starting both sides")
        checked = check_plan(duet.servers(), sides, plan, probes, titles, observer)
        measured = _measure(duet, core, checked, settings, file, titles, observer)
    # Where the host's memory lies is nothing to an accelerator, and Valgrind sees only the host.
    changed = [pair for pair in measured.changed if not pair.on_device]
    ratios = try_other_layouts(environments, changed, settings.layouts - 1, core, file, observer)
    counts: Mapping[str, InstructionChange] = {}
    not_counted: tuple[str, ...] = ()
    if settings.instructions:
        pairs = [pair for pair, _ in measured.judged if not pair.on_device]
        counts, not_counted = count_instructions(
            environments, checked.prepared, pairs, changed, settings.layouts, file, observer
        )
    results = _results(measured, checked, titles, counts, ratios)
    gave_up = [
        failure_of(measured.pairs[index].order.id, titles, "", error) for index, error in measured.failed.items()
    ]
    file.keep_all((*_records(results, plan), *checked.failures, *gave_up))
    return EnvironmentComparison(
        base=sides[0].name,
        branch=sides[1].name,
        suite=plan.suite,
        results=results,
        failures=(*checked.failures, *gave_up),
        not_reached=tuple(titles[pair.order.id] for pair in measured.not_reached),
        warnings=(*checked.warnings, *not_counted, *noise_warnings(measured.noise)),
        margin=settings.margin,
        false_discovery_rate=settings.false_discovery_rate,
        measuring_seconds=measured.measuring_seconds,
        noise=measured.noise,
    )


def _records(results: tuple[ComparisonResult, ...], plan: WorkOrders) -> list[dict[str, Any]]:
    """With the order and its code, so that a report can show what was compared."""
    orders = {order.id: order for order in plan}
    return [
        identified(
            {**result.to_json(), "task_spec": task_spec_of(orders[result.order_id]).to_json()}, orders[result.order_id]
        )
        for result in results
    ]


def _measure(
    duet: DuetRun,
    core: int | None,
    checked: CheckedPlan,
    settings: ComparisonSettings,
    file: ComparisonFile,
    titles: Mapping[str, str],
    observer: Observer,
) -> MeasuredSuite:
    """Replicate after replicate until every verdict stands or the budget is spent."""
    observer.stage("measuring")
    watch = NoiseWatch(core)
    watch.wait_for_quiet()
    budget = settings.budget_for(len(checked.pairs))
    judge = SuiteJudge(
        len(checked.pairs),
        settings.criteria,
        rate=settings.false_discovery_rate,
        seconds_per_replicate=REPLICATE_SECONDS,
    )
    spent = 0.0

    def on_replicate(index: int, verdict: Verdict, spent_seconds: float) -> None:
        nonlocal spent
        spent = spent_seconds
        watch.look()
        observer.replicate(titles[checked.pairs[index].order.id], verdict, spent, budget)

    failed = run_comparison(
        checked.pairs,
        ReplicateTaker(duet, random.Random(), core),
        judge,
        budget_seconds=budget,
        known=[replicate for replicate in file.replicates if replicate.layout == 0],
        keep=file.keep,
        on_replicate=on_replicate,
    )
    return MeasuredSuite(checked.pairs, judge.verdicts(), failed, spent, watch.noise())


def _results(
    measured: MeasuredSuite,
    checked: CheckedPlan,
    titles: Mapping[str, str],
    counts: Mapping[str, InstructionChange],
    ratios: Mapping[str, tuple[float, ...]],
) -> tuple[ComparisonResult, ...]:
    results = []
    for pair, verdict in measured.judged:
        order_id = pair.order.id
        change, others = counts.get(order_id), ratios.get(order_id, ())
        cause = DEVICE_TIME if pair.on_device else cause_sentence(verdict, change, others)
        warnings = checked.order_warnings[order_id]
        results.append(ComparisonResult(order_id, titles[order_id], verdict, cause, change, others, warnings))
    return tuple(results)
