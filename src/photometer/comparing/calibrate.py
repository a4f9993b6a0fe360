"""calibrate_environment: this machine's real false-alarm rate, by comparing an environment with itself again and again.

In: an environment, a suite, seconds. Out: a Calibration. Every alarm is false, for both sides are the same.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Collection
from functools import partial

from photometer.analysis.judge import DEFAULT_MARGIN, Criteria, judge_replicates
from photometer.analysis.suite_judge import held_back
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import check_plan
from photometer.comparing.request import EnvironmentLike, SuiteLike, plan_of, spec_of
from photometer.environments.resolved import resolve_environment
from photometer.environments.worktree import Worktrees
from photometer.errors import MeasurementError
from photometer.execution.comparison_run import PairedOrder
from photometer.execution.duet_run import REPLICATE_SECONDS, DuetRun, quietest_core
from photometer.execution.paired_replicate import ReplicateTaker
from photometer.plan.short_titles import short_titles
from photometer.session.fork_server import ForkServer
from photometer.stats.calibration import FalseAlarmRate, false_alarm_rate, reference_scale_for
from photometer.stats.replicate import ReplicateEstimate, estimate_replicate

DEFAULT_BUDGET_SECONDS = 120.0
# What one comparison may take before it is left undecided, as in a real one.
SECONDS_PER_COMPARISON = 10.0


@dataclasses.dataclass(frozen=True)
class Calibration:
    """What comparisons of identical sides brought. `reference_scale` is the width of noise that fits this machine."""

    rate: FalseAlarmRate
    same: int
    undecided: int
    measuring_seconds: float
    replicate_spread: float
    reference_scale: float


def calibrate_environment(
    environment: EnvironmentLike,
    suite: SuiteLike,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    budget: float = DEFAULT_BUDGET_SECONDS,
    margin: float = DEFAULT_MARGIN,
    install: str | None = None,
    observer: Observer | None = None,
) -> Calibration:
    """Compare the environment with itself, benchmark after benchmark and round after round, until time is up."""
    observer = observer or Observer()
    plan, probes = plan_of(suite, expression, tags)
    titles = short_titles(plan.orders)
    core = quietest_core()
    with Worktrees() as worktrees:
        # Two of its own, as in a real comparison: paths and processes are part of the luck.
        spec = spec_of(environment)
        sides = tuple(resolve_environment(spec, worktrees, install=install) for _ in range(2))
        with DuetRun(*(partial(ForkServer, side.environment, small_pages=True) for side in sides), core=core) as duet:
            observer.stage("starting both sides")
            checked = check_plan(duet.servers(), (sides[0], sides[1]), plan, probes, titles, observer)
            if not checked.pairs:
                why = "; ".join(checked.warnings)
                raise MeasurementError(
                    "no benchmark of the suite runs" + (f": {why}" if why else ""),
                    remedy="Run the suite first: photometer run.",
                )
            observer.stage("comparing the environment with itself")
            take = ReplicateTaker(duet, random.Random(), core)
            return _rounds(checked.pairs, take, Criteria(margin=margin), budget, observer)


def _rounds(
    pairs: tuple[PairedOrder, ...], take: ReplicateTaker, criteria: Criteria, budget: float, observer: Observer
) -> Calibration:
    words: list[str] = []
    log_ratios: list[float] = []
    spent = 0.0
    turns = [0] * len(pairs)
    while not words or spent < budget:
        index = len(words) % len(pairs)
        estimates: list[ReplicateEstimate] = []
        seconds = 0.0
        while True:
            replicate = take(pairs[index], turns[index])
            turns[index] += 1
            seconds += replicate.measuring_seconds
            estimates.append(estimate_replicate(replicate.base_seconds_per_run, replicate.branch_seconds_per_run))
            verdict = held_back(judge_replicates(estimates, criteria, forecast=False))
            observer.replicate(pairs[index].order.title, verdict, spent + seconds, budget)
            if verdict.decided or seconds + REPLICATE_SECONDS > SECONDS_PER_COMPARISON:
                break
        spent += seconds
        words.append(verdict.verdict)
        log_ratios += [estimate.log_ratio for estimate in estimates]
    alarms = sum(word in ("slower", "faster") for word in words)
    mean = sum(log_ratios) / len(log_ratios)
    spread = (sum((value - mean) ** 2 for value in log_ratios) / max(len(log_ratios) - 1, 1)) ** 0.5
    return Calibration(
        rate=false_alarm_rate(alarms, len(words)),
        same=words.count("same"),
        undecided=words.count("undecided"),
        measuring_seconds=spent,
        replicate_spread=spread,
        reference_scale=reference_scale_for(log_ratios),
    )
