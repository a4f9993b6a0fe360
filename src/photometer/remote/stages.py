"""The stages after the orders of a run that need a session: rungs and speed-ups, each on one node.

All sides of a pair are measured at the same time, so they are on one node. In: a workplace and a plan. Out: records,
kept by the driver, which is informed of problems when a stage has ended.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photometer.analysis.ladder import Ladder
from photometer.analysis.speedup import runtime_groups
from photometer.comparing.ladder import counted_instructions, is_ladder, measure_ladder
from photometer.comparing.runtimes import measure_speedups, not_to_speed_up
from photometer.execution.import_check import check_imports
from photometer.execution.observer import RunObserver
from photometer.execution.run_settings import RunSettings
from photometer.model.results_reader import load_results
from photometer.plan.work_order import WorkOrders
from photometer.session.session import Session
from photometer.worker.messages import TorchFacts

if TYPE_CHECKING:
    from photometer.remote.ray_workplace import RayWorkplace


@dataclasses.dataclass(frozen=True)
class StageResult:
    """The measurements of a stage, and the titles and reasons of those that failed."""

    records: tuple[Any, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    ladder: Ladder | None = None


def stages_elsewhere(
    place: RayWorkplace,
    plan: WorkOrders,
    settings: RunSettings,
    facts: TorchFacts,
    results: Path,
    keep: Callable[[Any], object],
    observer: RunObserver,
) -> Ladder | None:
    """Measure the stages that the run asks for, on a node for timings; return the ladder if there is one."""
    ladder = None
    if settings.measures_ladder and is_ladder(plan):
        counts = counted_instructions(load_results(results))
        ladder = _kept(place.call(ladder_stage, plan, counts), keep, observer).ladder
    if settings.measures_speedups and runtime_groups(plan):
        failed = not_to_speed_up(load_results(results).records)
        _kept(place.call(speedup_stage, plan, facts, failed), keep, observer)
    return ladder


def _kept(result: StageResult, keep: Callable[[Any], object], observer: RunObserver) -> StageResult:
    for record in result.records:
        keep(record)
    for title, reason in result.problems:
        observer.gave_up(title, reason)
    return result


def import_stage(session: Session, plan: WorkOrders) -> None:
    """Raise if a module is missing without which nothing in the plan can run."""
    check_imports(plan, session)


def ladder_stage(session: Session, plan: WorkOrders, instructions: Mapping[str, Any]) -> StageResult:
    problems: list[tuple[str, str]] = []

    def on_rung(title: str, problem: str | None) -> None:
        if problem is not None:
            problems.append((title, problem))

    ladder = measure_ladder(plan, session, instructions=instructions, on_rung=on_rung)
    return StageResult(tuple(ladder), tuple(problems), ladder)


def speedup_stage(session: Session, plan: WorkOrders, facts: TorchFacts, failed: Collection[str]) -> StageResult:
    records: list[Any] = []
    problems: list[tuple[str, str]] = []
    measure_speedups(
        plan,
        session,
        facts,
        keep=records.append,
        failed=failed,
        on_problem=lambda title, reason: problems.append((title, reason)),
    )
    return StageResult(tuple(records), tuple(problems))
