"""Find a machine's real false-alarm rate by comparing an environment with itself again and again.

In: an environment, a suite, seconds. Out: a Calibration: how often identical sides raised an alarm, and how wide the
machine's noise is. Both sides are the same, so every alarm is false.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from photometer.analysis.judge import Criteria
from photometer.analysis.verdict import CHANGED_WORDS, PROBABLE_WORDS, Verdict
from photometer.comparing.environments import live_comparison
from photometer.comparing.fork_sampler import ForkSampler
from photometer.comparing.request import ComparisonRequest, ComparisonSettings, EnvironmentLike, SuiteLike
from photometer.comparing.source import CheckedPlan, Observer
from photometer.comparing.verdict_loop import Sample, verdict_of_one
from photometer.errors import DefinitionError, MeasurementError
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.session.cores import quietest_core
from photometer.stats.anytime_evidence import REFERENCE_SCALE

# Below this quantile of the sizes the reference is so far above any real noise that a scale read there means nothing.
_TAIL_FROM = 0.5


@dataclass(frozen=True)
class FalseAlarmRate:
    """Alarms among comparisons of identical sides, and the 95 % interval of the rate (Clopper and Pearson)."""

    alarms: int
    comparisons: int
    rate: float
    interval: tuple[float, float]


def false_alarm_rate(alarms: int, comparisons: int, *, confidence: float = 0.95) -> FalseAlarmRate:
    """Return the measured rate with an exact interval: no alarm in 300 still allows up to 1.2 %."""
    if not 0 <= alarms <= comparisons or comparisons == 0:
        raise DefinitionError(
            f"{alarms} alarms in {comparisons} comparisons give no rate.", remedy="Run at least one comparison."
        )
    from scipy import stats

    doubt = (1.0 - confidence) / 2.0
    low = float(stats.beta.ppf(doubt, alarms, comparisons - alarms + 1)) if alarms else 0.0
    high = float(stats.beta.ppf(1.0 - doubt, alarms + 1, comparisons - alarms)) if alarms < comparisons else 1.0
    return FalseAlarmRate(alarms, comparisons, alarms / comparisons, (low, high))


def reference_scale_for(log_ratios: ArrayLike) -> float:
    """Return the ``reference_scale`` for this machine: the built-in one, or a wider one if its tails need it.

    Each of the larger half of the sizes must lie inside the reference's quantile of the same rank.
    """
    sizes = np.sort(np.abs(np.asarray(log_ratios, dtype=np.float64)))
    if sizes.size == 0:
        return REFERENCE_SCALE
    quantile = (np.arange(sizes.size) + 0.5) / sizes.size
    tail = quantile >= _TAIL_FROM
    # Quantiles of |T| for Student's distribution with two degrees of freedom, in closed form.
    reference = quantile[tail] * np.sqrt(2.0 / (1.0 - quantile[tail] ** 2))
    return max(REFERENCE_SCALE, float(np.max(sizes[tail] / reference)))


DEFAULT_BUDGET_SECONDS = 120.0
# Seconds before a comparison is left undecided, as in a real one.
SECONDS_PER_COMPARISON = 10.0


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The outcome of comparing identical sides. `reference_scale` is the width of noise that fits this machine."""

    rate: FalseAlarmRate
    same: int
    probable: FalseAlarmRate
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
    margin: float | None = None,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    install: str | None = None,
    observer: Observer | None = None,
) -> Calibration:
    """Compare the environment with itself, benchmark after benchmark and round after round, until time is up."""
    observer = observer or Observer()
    # Two separate sides, as in a real comparison: paths and processes are part of the noise.
    settings = ComparisonSettings(margin=margin, timeout_seconds=timeout)
    request = ComparisonRequest((environment, environment), suite, settings, expression, tags, install)
    with live_comparison(request, observer) as live:
        checked = live.check()
        if not checked.orders:
            why = "; ".join(checked.warnings)
            raise MeasurementError(
                "no benchmark of the suite could be run" + (f": {why}" if why else ""),
                remedy="Run the suite first: photometer run.",
            )
        observer.stage("comparing the environment with itself")
        sampler = ForkSampler(checked.contestants(live.sides, checked.orders), core=quietest_core())
        criteria = [Criteria(margin=request.settings.margin_of(order)) for order in checked.orders]
        return _rounds(checked, sampler, criteria, budget, observer)


class _OneOrder:
    """Samples one of several orders, and keeps the samples."""

    def __init__(self, sampler: ForkSampler, order: int, first_turn: int) -> None:
        self._sampler, self._order, self._first_turn = sampler, order, first_turn
        self.samples: list[Sample] = []

    def sample(self, benchmark: int, turn: int) -> Sample:
        taken = self._sampler.sample(self._order, self._first_turn + turn)
        self.samples.append(dataclasses.replace(taken, benchmark=benchmark))
        return self.samples[-1]


def _rounds(
    checked: CheckedPlan, sampler: ForkSampler, criteria: Sequence[Criteria], budget: float, observer: Observer
) -> Calibration:
    words: list[str] = []
    log_ratios: list[float] = []
    spent = 0.0
    turns = [0] * len(checked.orders)
    while not words or spent < budget:
        index = len(words) % len(checked.orders)
        one = _OneOrder(sampler, index, turns[index])
        title = checked.orders[index].title

        def report(verdict: Verdict, title: str = title, before: float = spent, one: _OneOrder = one) -> None:
            observer.replicate(title, verdict, before + sum(s.seconds for s in one.samples), budget)

        verdict = verdict_of_one(one, criteria[index], budget=SECONDS_PER_COMPARISON, callback=report)
        turns[index] += len(one.samples)
        spent += sum(sample.seconds for sample in one.samples)
        words.append(verdict.verdict)
        estimates = [sample.estimates[0] for sample in one.samples]
        log_ratios += [estimate.log_ratio for estimate in estimates if estimate is not None]
    alarms = sum(word in CHANGED_WORDS for word in words)
    mean = sum(log_ratios) / len(log_ratios)
    spread = (sum((value - mean) ** 2 for value in log_ratios) / max(len(log_ratios) - 1, 1)) ** 0.5
    return Calibration(
        rate=false_alarm_rate(alarms, len(words)),
        same=words.count("same"),
        probable=false_alarm_rate(sum(word in PROBABLE_WORDS for word in words), len(words)),
        undecided=words.count("undecided"),
        measuring_seconds=spent,
        replicate_spread=spread,
        reference_scale=reference_scale_for(log_ratios),
    )
