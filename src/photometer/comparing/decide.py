"""decide: one verdict per benchmark, from instructions and time, whichever settles it first.

In: two started sides and a checked plan. Out: a DecidedSuite. Instructions are counted in a thread, which takes 15 s to
start, while replicates are taken on the measuring core. A benchmark that executes the same instructions needs only a
few replicates, and one that is clearly slower is decided before it has been counted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping

from photometer.analysis.judge import APART, IDENTICAL_REPLICATES, MOST_IDENTICAL_REPLICATES, judge_identical
from photometer.analysis.suite_judge import SuiteJudge
from photometer.analysis.verdict import Verdict, VerdictWord
from photometer.analysis.verdict_reason import reason_for_identical, reason_for_not_timed
from photometer.comparing.comparison_file import ComparisonFile
from photometer.comparing.counts import CountedSuite, CountsUnderWay
from photometer.comparing.fork_sampler import ForkSampler, estimated, replicate_record
from photometer.comparing.kept_counts import KeptCounts
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import CheckedPlan, StartedSides
from photometer.comparing.request import ComparisonSettings
from photometer.comparing.verdict_loop import Gate, NoGate, Sample, run_to_verdicts
from photometer.errors import PhotometerError
from photometer.instruments.noise_watch import NoiseWatch
from photometer.instruments.replicate import REPLICATE_SECONDS
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.machine import MachineNoise
from photometer.plan.work_order import WorkOrder

# Most replicates while a benchmark may still be identical: enough to decide a change of a few per cent.
REPLICATES_WHILE_COUNTING = 12
# How long to wait for counts at a time, if nothing is left to measure.
WAIT_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class DecidedSuite:
    """A verdict (or none) per order, the errors of orders that were given up, and the counts."""

    orders: tuple[WorkOrder, ...]
    verdicts: tuple[Verdict | None, ...]
    failed: Mapping[int, PhotometerError]
    counted: CountedSuite
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
        undecided = [index for index, verdict in enumerate(self.verdicts) if verdict is None]
        return [self.orders[index] for index in undecided if index not in self.failed]


def decide(
    sides: StartedSides,
    checked: CheckedPlan,
    settings: ComparisonSettings,
    titles: Mapping[str, str],
    file: ComparisonFile,
    core: int | None,
    observer: Observer,
    *,
    seconds_left: Callable[[], float] = lambda: math.inf,
    others_busy_share: float | None = None,
) -> DecidedSuite:
    """Count and measure until every verdict is final, or the budget or the time is spent.

    `others_busy_share` is the load of other processes before the comparison.
    """
    orders = checked.orders
    counts = settings.instructions and any(order.counts_instructions for order in orders)
    kept = [KeptCounts.of(side.resolved) for side in sides] if counts else []
    observer.stage("counting instructions and measuring" if counts else "measuring")
    watch = NoiseWatch(core)
    if not counts:
        watch.wait_for_quiet()
    margins = [settings.margin_of(order) for order in orders]
    judge = SuiteJudge(
        len(orders),
        settings.criteria,
        rate=settings.false_discovery_rate,
        seconds_per_replicate=REPLICATE_SECONDS,
        margins=margins,
        most_seconds_each=settings.most_seconds_each,
        elsewhere=settings.judged_elsewhere,
    )
    sampler = RecordingSampler(sides, checked, file, core=core)
    reported: set[int] = set()

    def report(index: int, verdict: Verdict) -> None:
        if verdict.decided and index not in reported:
            reported.add(index)
            observer.decided(titles[orders[index].id], verdict)

    def on_verdict(index: int, verdict: Verdict, spent_seconds: float) -> None:
        watch.look()
        timed = sum(not judge.is_settled(place) for place in range(len(orders)))
        observer.replicate(titles[orders[index].id], verdict, spent_seconds, settings.budget_for(timed))
        # A large difference cannot become identical: report it at once.
        apart = abs(math.log(verdict.ratio)) > math.log1p(APART)
        if apart or not isinstance(gate, CountGate) or not gate.may_be_identical(index):
            report(index, verdict)

    with contextlib.ExitStack() as stack:
        gate: Gate = NoGate()
        underway = None
        if counts:
            underway = stack.enter_context(CountsUnderWay(sides, checked, kept, observer.counted))
            gate = CountGate(orders, underway, judge, settings, report)
        outcome = run_to_verdicts(
            len(orders),
            sampler,
            judge,
            budget_seconds=settings.budget_for,
            known=sampler.known(),
            retries=lambda index: orders[index].retries,
            on_verdict=on_verdict,
            gate=gate,
            wall_seconds_left=seconds_left,
        )
    settled = gate.settled if isinstance(gate, CountGate) else {}
    verdicts = tuple(settled.get(index, verdict) for index, verdict in enumerate(judge.verdicts()))
    for index, verdict in enumerate(verdicts):
        if verdict is not None:
            report(index, verdict)
    counted = CountedSuite() if underway is None else underway.so_far()
    noise = watch.noise()
    if counts:
        # The other cores were busy counting: use the load of other processes from before.
        noise = dataclasses.replace(noise, others_busy_share=others_busy_share)
    return DecidedSuite(orders, verdicts, outcome.failed, counted, outcome.measuring_seconds, noise)


class CountGate:
    """Settles benchmarks by their instructions as these become known.

    With `time` "changed", benchmarks with the same instructions are identical after a few replicates; with "none",
    nothing is timed; with "all", counts settle nothing.
    """

    def __init__(
        self,
        orders: tuple[WorkOrder, ...],
        counts: CountsUnderWay,
        judge: SuiteJudge,
        settings: ComparisonSettings,
        report: Callable[[int, Verdict], object],
    ) -> None:
        self._orders, self._counts, self._judge, self._settings, self._report = orders, counts, judge, settings, report
        self._places = {order.id: index for index, order in enumerate(orders)}
        # Instructions per run of benchmarks that execute the same on both sides and are not settled yet.
        self._identical: dict[int, float] = {}
        # Number of replicates after which to check again those whose times differed.
        self._looks: dict[int, int] = {}
        self.settled: dict[int, Verdict] = {}

    def update(self) -> None:
        counted = self._counts.take()
        if self._settings.time == "all":
            return
        if counted:
            known = self._counts.so_far()
            for order_id in counted:
                place = self._places[order_id]
                per_run = known.sides[order_id][0].counts.outside_allocator_per_run
                if known.is_identical(self._orders[place]):
                    self._identical[place] = per_run
                elif self._settings.time == "none":
                    self._settle_untimed(place, reason_for_not_timed(known.ratio(order_id)), "undecided")
        for place, per_run in list(self._identical.items()):
            if self._settings.time == "none":
                self._settle_untimed(place, reason_for_identical(per_run, 0), "identical")
            elif len(self._judge.estimates(place)) >= self._looks.get(place, IDENTICAL_REPLICATES):
                self._look(place, per_run)

    def held(self) -> frozenset[int]:
        if self._settings.time == "none":
            return frozenset(range(len(self._orders)))
        return frozenset(place for place, order in enumerate(self._orders) if self._is_held(place, order))

    def _is_held(self, place: int, order: WorkOrder) -> bool:
        if order.args.num_threads > 1:
            # Its threads need all cores, and counting uses one or two of them.
            return not self._counts.is_finished
        if self._settings.time == "all":
            return False
        return self._counts.is_pending(order.id) and len(self._judge.estimates(place)) >= REPLICATES_WHILE_COUNTING

    def wait(self) -> bool:
        return self._counts.wait(WAIT_SECONDS)

    def may_be_identical(self, place: int) -> bool:
        """Return whether `same` may still become `identical`, and must not be reported yet."""
        return self._settings.time == "changed" and (
            place in self._identical or self._counts.is_pending(self._orders[place].id)
        )

    def _look(self, place: int, per_run: float) -> None:
        """Settle it as identical, unless its times differ; if they still do later, time it like the others."""
        estimates = self._judge.estimates(place)
        verdict = judge_identical(estimates, per_run, self._settings.criteria)
        if verdict is None and len(estimates) < MOST_IDENTICAL_REPLICATES:
            # Another process may have disturbed them for a moment.
            self._looks[place] = 2 * len(estimates)
            return
        del self._identical[place]
        if verdict is not None:
            self._settle(place, verdict)

    def _settle_untimed(self, place: int, reason: str, word: VerdictWord) -> None:
        self._identical.pop(place, None)
        self._settle(place, Verdict.untimed(word, reason, self._settings.margin_of(self._orders[place])))

    def _settle(self, place: int, verdict: Verdict) -> None:
        self._judge.settle(place)
        self.settled[place] = verdict
        self._report(place, verdict)


class RecordingSampler:
    """Takes replicates of a suite's orders, and writes each to the file before it is judged: a crash loses only one."""

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
        """Return the samples of an interrupted comparison."""
        places = {order.id: index for index, order in enumerate(self._orders)}
        return [
            self._sample(places[replicate.order_id], replicate)
            for replicate in self._file.replicates
            if replicate.layout == 0 and replicate.order_id in places
        ]

    def _sample(self, benchmark: int, replicate: ComparisonReplicate) -> Sample:
        # From the file's whole nanoseconds: a resumed comparison has the same numbers, hence the same verdict.
        sides = (replicate.base_seconds_per_run, replicate.branch_seconds_per_run)
        return estimated(benchmark, sides, replicate.measuring_seconds)
