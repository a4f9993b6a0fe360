"""calibrate_environment: this machine's real false-alarm rate, by comparing an environment with itself again and again.

In: an environment, a suite, seconds. Out: a Calibration. Both sides are the same, so every alarm is false.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from photometer.analysis.judge import Criteria
from photometer.analysis.verdict import CHANGED_WORDS, PROBABLE_WORDS, Verdict
from photometer.comparing.environments import live_comparison
from photometer.comparing.fork_sampler import ForkSampler
from photometer.comparing.observer import Observer
from photometer.comparing.request import ComparisonRequest, ComparisonSettings, EnvironmentLike, SuiteLike
from photometer.comparing.source import CheckedPlan
from photometer.comparing.verdict_loop import Sample, verdict_of_one
from photometer.errors import MeasurementError
from photometer.session.cores import quietest_core
from photometer.stats.calibration import FalseAlarmRate, false_alarm_rate, reference_scale_for

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
    install: str | None = None,
    observer: Observer | None = None,
) -> Calibration:
    """Compare the environment with itself, benchmark after benchmark and round after round, until time is up."""
    observer = observer or Observer()
    # Two separate sides, as in a real comparison: paths and processes are part of the noise.
    request = ComparisonRequest(
        (environment, environment), suite, ComparisonSettings(margin=margin), expression, tags, install
    )
    with live_comparison(request, observer) as live:
        checked = live.check()
        if not checked.orders:
            why = "; ".join(checked.warnings)
            raise MeasurementError(
                "no benchmark of the suite runs" + (f": {why}" if why else ""),
                remedy="Run the suite first: photometer run.",
            )
        observer.stage("comparing the environment with itself")
        sampler = ForkSampler(checked.contestants(live.sides, checked.orders), core=quietest_core())
        criteria = [Criteria(margin=request.settings.margin_of(order)) for order in checked.orders]
        return _rounds(checked, sampler, criteria, budget, observer)


class _OneOrder:
    """Samples one of several orders, and remembers the samples."""

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
