"""Both sides prepared and every benchmark run once on each: what can be measured, what not, what must be said first."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from photometer.analysis.comparison_result import ComparisonFailure
from photometer.analysis.guards import (
    checkout_warning,
    environment_warnings,
    left_out_warning,
    order_warnings,
    thread_warnings,
)
from photometer.comparing.observer import Observer
from photometer.environments.resolved import ResolvedEnvironment
from photometer.errors import PhotometerError, WorkerError
from photometer.execution.comparison_run import PairedOrder
from photometer.execution.side_preparation import PreparedSide, ask_facts, prepare_side, run_check, run_cpp_check
from photometer.model.language import Language
from photometer.model.probe_result import Surroundings
from photometer.plan import WorkOrders
from photometer.plan.work_order import WorkOrder
from photometer.session.fork_server import ForkServer
from photometer.session.layout import freezing

Sides = tuple[ResolvedEnvironment, ResolvedEnvironment]


@dataclasses.dataclass(frozen=True)
class CheckedPlan:
    """What can be measured, what cannot, and what must be said beforehand."""

    pairs: tuple[PairedOrder, ...]
    failures: tuple[ComparisonFailure, ...]
    warnings: tuple[str, ...]
    order_warnings: Mapping[str, tuple[str, ...]]
    prepared: tuple[PreparedSide, PreparedSide]


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
    cpp_probes = _cpp_probes(servers, sides, probes)
    prepared = (
        prepare_side(servers[0], plan, "base", cpp_probes),
        prepare_side(servers[1], plan, "branch", cpp_probes),
    )
    warnings = [*environment_warnings(prepared[0].facts, prepared[1].facts)]
    refused = freezing().refused_because
    if refused is not None:
        warnings.append(f"{refused}: every pair of processes has a bias of its own, so verdicts need more time")
    left_out = prepared[0].no_device | prepared[1].no_device
    if left_out:
        warnings.append(left_out_warning(len(left_out)))
        plan = plan.only(tuple(order for order in plan if order.id not in left_out))
    load = os.getloadavg()[0]
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
                ready = (side.ready[order.id] for side in prepared)
                pairs.append(PairedOrder(order, *(each.preparation(device_time=True) for each in ready)))
                by_order[order.id] = (*order_warnings(*outcome), *thread_warnings(order.args.num_threads, load))
                for gathered, around in zip(seen, outcome, strict=True):
                    gathered.append(around)
            observer.step(done, len(plan))
    if sides[0].imports_checkout and sides[1].imports_checkout and pairs:
        warnings += checkout_warning(*seen)
    return CheckedPlan(tuple(pairs), tuple(failures), tuple(warnings), by_order, prepared)


def _cpp_probes(
    servers: tuple[ForkServer, ForkServer], sides: Sides, probes: Mapping[str, WorkOrder]
) -> list[WorkOrder]:
    """None where both sides run the very same code: compiling probes takes longer than most comparisons."""
    found = [probe for probe in probes.values() if probe.args.language is Language.CPP]
    if not found:
        return []
    base, branch = (
        [*(facts[name] for name in ("torch_folder", "git_version")), side.environment.variables]
        for facts, side in zip(map(ask_facts, servers), sides, strict=True)
    )
    if base != branch:
        return found
    # The same machine code, but a scripted model may be made of a module that differs.
    return [
        probe
        for probe in found
        if probe.model_id is not None and sides[0].environment.path != sides[1].environment.path
    ]


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
            return failure_of(order.id, titles, name, ready.failures[order.id])
        checkout = side.checkout.folder if side.checkout is not None and side.imports_checkout else None
        try:
            if order.args.language is Language.CPP:
                around.append(run_cpp_check(server, ready, order.id, folder))
            else:
                around.append(run_check(server, ready.ready[order.id], probe, folder, checkout))
        except WorkerError as error:
            return failure_of(order.id, titles, name, error)
    return around[0], around[1]


def failure_of(order_id: str, titles: Mapping[str, str], side: str, error: PhotometerError) -> ComparisonFailure:
    return ComparisonFailure(order_id, titles[order_id], side, error.message, error.log or "")
