"""A live comparison: both sides started, prepared, checked, then measured in alternation until the verdicts stand.

In: two resolved environments, a plan, settings, the file to keep replicates in. Out: an EnvironmentComparison.
"""

from __future__ import annotations

import dataclasses
import random
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from photometer.comparison.cause import InstructionChange, cause_sentence
from photometer.comparison.comparison_result import ComparisonFailure, ComparisonResult, EnvironmentComparison
from photometer.comparison.guards import checkout_warning, environment_warnings, noise_warnings, order_warnings
from photometer.comparison.suite_judge import SuiteJudge
from photometer.comparison.verdict import Verdict
from photometer.environments.behind_changes import count_instructions, try_other_layouts
from photometer.environments.comparison_file import ComparisonFile
from photometer.environments.observer import Observer
from photometer.environments.settings import ComparisonSettings
from photometer.errors import PhotometerError, WorkerError
from photometer.execution.comparison_run import PairedOrder, run_comparison
from photometer.execution.duet_run import REPLICATE_SECONDS, DuetRun, quietest_core
from photometer.execution.paired_replicate import ReplicateTaker
from photometer.execution.resolved_environment import ResolvedEnvironment
from photometer.execution.side_preparation import PreparedSide, prepare_side, run_check
from photometer.instruments.fork_server import ForkServer
from photometer.instruments.frozen_layout import freezing
from photometer.instruments.noise_watch import NoiseWatch
from photometer.model.surroundings import Surroundings
from photometer.plan import WorkOrders
from photometer.plan.short_titles import short_titles
from photometer.plan.work_order import WorkOrder

Sides = tuple[ResolvedEnvironment, ResolvedEnvironment]


@dataclasses.dataclass(frozen=True)
class CheckedPlan:
    """What can be measured, what cannot, and what must be said beforehand."""

    pairs: tuple[PairedOrder, ...]
    failures: tuple[ComparisonFailure, ...]
    warnings: tuple[str, ...]
    order_warnings: Mapping[str, tuple[str, ...]]
    prepared: tuple[PreparedSide, PreparedSide]


def compare_live(
    sides: Sides,
    plan: WorkOrders,
    probes: Mapping[str, WorkOrder],
    settings: ComparisonSettings,
    file: ComparisonFile,
    observer: Observer,
) -> EnvironmentComparison:
    titles = short_titles(plan.orders)
    core = quietest_core()
    watch = NoiseWatch(core)
    with DuetRun(*(partial(ForkServer, side.environment, small_pages=True) for side in sides), core=core) as duet:
        observer.stage("starting both sides")
        servers = duet.servers()
        checked = check_plan(servers, sides, plan, probes, titles, observer)
        observer.stage("measuring")
        watch.wait_for_quiet()
        judge = SuiteJudge(
            len(checked.pairs),
            settings.criteria,
            rate=settings.false_discovery_rate,
            seconds_per_replicate=REPLICATE_SECONDS,
        )
        budget = settings.budget_for(len(checked.pairs))
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
        noise = watch.noise()
    verdicts = judge.verdicts()
    changed = [
        pair
        for pair, verdict in zip(checked.pairs, verdicts, strict=True)
        if verdict is not None and verdict.verdict in ("slower", "faster")
    ]
    environments = (sides[0].environment, sides[1].environment)
    ratios = try_other_layouts(environments, changed, settings.layouts - 1, core, file, observer)
    counted = [pair for pair, verdict in zip(checked.pairs, verdicts, strict=True) if verdict is not None]
    counts, count_warnings = (
        count_instructions(environments, checked.prepared, counted, changed, settings.layouts, file, observer)
        if settings.instructions
        else ({}, ())
    )
    results = _results(checked, titles, verdicts, counts, ratios)
    failures = (
        *checked.failures,
        *(_failure(checked.pairs[i].order.id, titles, "", error) for i, error in failed.items()),
    )
    comparison = EnvironmentComparison(
        base=sides[0].name,
        branch=sides[1].name,
        suite=plan.suite,
        results=results,
        failures=failures,
        not_reached=tuple(
            titles[pair.order.id]
            for index, (pair, verdict) in enumerate(zip(checked.pairs, verdicts, strict=True))
            if verdict is None and index not in failed
        ),
        warnings=(*checked.warnings, *count_warnings, *noise_warnings(noise)),
        margin=settings.margin,
        false_discovery_rate=settings.false_discovery_rate,
        measuring_seconds=spent,
        noise=noise,
    )
    file.keep_all(results)
    file.keep_all(failures)
    return comparison


def check_plan(
    servers: tuple[ForkServer, ForkServer],
    sides: Sides,
    plan: WorkOrders,
    probes: Mapping[str, WorkOrder],
    titles: Mapping[str, str],
    observer: Observer,
) -> CheckedPlan:
    """Prepare both sides, run everything once on each, and gather what must be said before anything is concluded."""
    observer.stage("preparing both sides")
    prepared = (prepare_side(servers[0], plan, "base"), prepare_side(servers[1], plan, "branch"))
    warnings = [*environment_warnings(prepared[0].facts, prepared[1].facts)]
    refused = freezing().refused_because
    if refused is not None:
        warnings.append(f"{refused}: every pair of processes has a bias of its own, so verdicts need more time")
    pairs: list[PairedOrder] = []
    failures: list[ComparisonFailure] = []
    by_order: dict[str, tuple[str, ...]] = {}
    seen: tuple[list[Surroundings], list[Surroundings]] = ([], [])
    observer.stage("checking that both sides compute the same")
    with tempfile.TemporaryDirectory(prefix="photometer-check-") as folder:
        for done, order in enumerate(plan, start=1):
            outcome = _check_order(order, servers, sides, prepared, probes.get(order.id), titles, Path(folder))
            if isinstance(outcome, ComparisonFailure):
                failures.append(outcome)
            else:
                pairs.append(PairedOrder(order, *(side.ready[order.id].preparation() for side in prepared)))
                by_order[order.id] = order_warnings(*outcome)
                for gathered, around in zip(seen, outcome, strict=True):
                    gathered.append(around)
            observer.step(done, len(plan))
    if sides[0].imports_checkout and sides[1].imports_checkout and pairs:
        warnings += checkout_warning(*seen)
    return CheckedPlan(tuple(pairs), tuple(failures), tuple(warnings), by_order, prepared)


def _check_order(
    order: WorkOrder,
    servers: Sequence[ForkServer],
    sides: Sides,
    prepared: Sequence[PreparedSide],
    probe: WorkOrder | None,
    titles: Mapping[str, str],
    folder: Path,
) -> ComparisonFailure | tuple[Surroundings, Surroundings]:
    around: list[Surroundings] = []
    for name, server, side, ready in zip(("base", "branch"), servers, sides, prepared, strict=True):
        if order.id in ready.failures:
            return _failure(order.id, titles, name, ready.failures[order.id])
        checkout = side.checkout.folder if side.checkout is not None and side.imports_checkout else None
        try:
            around.append(run_check(server, ready.ready[order.id], probe, folder, checkout))
        except WorkerError as error:
            return _failure(order.id, titles, name, error)
    return around[0], around[1]


def _failure(order_id: str, titles: Mapping[str, str], side: str, error: PhotometerError) -> ComparisonFailure:
    return ComparisonFailure(order_id, titles[order_id], side, error.message, error.log or "")


def _results(
    checked: CheckedPlan,
    titles: Mapping[str, str],
    verdicts: Sequence[Verdict | None],
    counts: Mapping[str, InstructionChange],
    ratios: Mapping[str, tuple[float, ...]],
) -> tuple[ComparisonResult, ...]:
    results = []
    for pair, verdict in zip(checked.pairs, verdicts, strict=True):
        if verdict is None:
            continue
        change, others = counts.get(pair.order.id), ratios.get(pair.order.id, ())
        results.append(
            ComparisonResult(
                order_id=pair.order.id,
                title=titles[pair.order.id],
                judged=verdict,
                cause=cause_sentence(verdict, change, others),
                instructions=change,
                layout_ratios=others,
                warnings=checked.order_warnings[pair.order.id],
            )
        )
    return tuple(results)
