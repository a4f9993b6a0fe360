"""decide: a verdict per benchmark and contest, from instructions and time, whichever settles it first.

In: started sides and a checked plan. Out: a DecidedSuite. Instructions are counted in a thread, which takes 15 s to
start, while replicates are taken on the measuring core. A benchmark that executes the same instructions on two sides
needs only a few replicates; one that is clearly slower is decided before it has been counted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

from photometer.analysis.judge import APART, IDENTICAL_REPLICATES, MOST_IDENTICAL_REPLICATES, judge_identical
from photometer.analysis.suite_judge import SuiteJudge
from photometer.analysis.verdict import (
    CHANGED_WORDS,
    PROBABLE_WORDS,
    Verdict,
    VerdictWord,
    reason_for_identical,
    reason_for_not_timed,
)
from photometer.comparing.comparison_file import ComparisonFile
from photometer.comparing.counts import CountedSuite, CountsUnderWay
from photometer.comparing.exact_figures import ExactSuite
from photometer.comparing.fork_sampler import ForkSampler, replicate_record
from photometer.comparing.request import ComparisonSettings
from photometer.comparing.source import CheckedPlan, Contest, Observer, StartedSide, contests_of
from photometer.comparing.verdict_loop import Gate, LoopStopped, NoGate, Sample, run_to_verdicts
from photometer.errors import PhotometerError
from photometer.instruments.noise_watch import NoiseWatch
from photometer.instruments.replicate import REPLICATE_SECONDS
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.machine import MachineNoise
from photometer.plan.work_order import WorkOrder
from photometer.stats.replicate import estimate_replicate

# Most replicates while a benchmark may still be identical: enough to decide a change of a few per cent.
REPLICATES_WHILE_COUNTING = 12
# A replicate of a look at what executes the same instructions: 25 rounds of blocks tell times apart that differ by more
# than APART, and with many unchanged benchmarks the looks are most of what a comparison measures.
LOOK_SECONDS = 0.03
# How long to wait for counts at a time, if nothing is left to measure.
WAIT_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class DecidedSuite:
    """The verdicts by order id and contest, the errors of orders that were given up, by id, and the counts."""

    orders: tuple[WorkOrder, ...]
    verdicts: Mapping[tuple[str, Contest], Verdict]
    failed: Mapping[str, PhotometerError]
    counted: CountedSuite
    measuring_seconds: float
    noise: MachineNoise
    # A signal ended it early: the verdicts are what was known by then.
    stopped: bool = False

    def changed(self, place: int) -> list[WorkOrder]:
        """Return the orders that are slower or faster on a side than on the reference, or probably are."""
        found = ((order, self.verdicts.get((order.id, Contest(0, place)))) for order in self.orders)
        words = (*CHANGED_WORDS, *PROBABLE_WORDS)
        return [order for order, verdict in found if verdict is not None and verdict.verdict in words]


@dataclasses.dataclass(frozen=True)
class Contests:
    """The contests of all orders in one row, for the judge.

    `others` are the contests of each order, some of which may be impossible.
    """

    orders: tuple[WorkOrder, ...]
    others: int
    possible: Mapping[int, Contest]

    @classmethod
    def of(cls, checked: CheckedPlan, sides: int) -> Contests:
        wanted = contests_of(sides)
        possible = {
            index * len(wanted) + number: found
            for index, order in enumerate(checked.orders)
            for number, each in enumerate(wanted)
            if (found := checked.contest(order.id, each)) is not None
        }
        return cls(checked.orders, len(wanted), possible)

    def __len__(self) -> int:
        return len(self.orders) * self.others

    def order(self, index: int) -> WorkOrder:
        return self.orders[index // self.others]

    def unsettled(self, judge: SuiteJudge) -> int:
        """Return how many orders have a contest that only replicates can decide."""
        return sum(
            not all(judge.is_settled(place * self.others + number) for number in range(self.others))
            for place in range(len(self.orders))
        )

    def of_order(self, benchmark: int) -> list[Contest | None]:
        return [self.possible.get(benchmark * self.others + number) for number in range(self.others)]


def decide(
    sides: Sequence[StartedSide],
    checked: CheckedPlan,
    settings: ComparisonSettings,
    titles: Mapping[str, str],
    file: ComparisonFile,
    core: int | None,
    observer: Observer,
    *,
    seconds_left: Callable[[], float] = lambda: math.inf,
    others_busy_share: float | None = None,
    exact: ExactSuite = ExactSuite(),  # noqa: B008 - frozen, so sharing it is safe
) -> DecidedSuite:
    """Count and measure until every verdict is final, the budget or the time is spent, or a signal stops it.

    `others_busy_share` is the load of other processes before the comparison. A benchmark whose `exact` figures differ
    is not identical, even if it executes the same instructions.
    """
    orders = checked.orders
    contests = Contests.of(checked, len(sides))
    counts = settings.instructions and any(order.counts_instructions for order in orders)
    watch = NoiseWatch(core)
    if not orders:
        return DecidedSuite((), {}, {}, CountedSuite(), 0.0, watch.noise())
    observer.stage("counting instructions and measuring" if counts else "measuring")
    if not counts:
        watch.wait_for_quiet()
    judge = _judge(contests, settings, titles, len(sides))
    sampler = RecordingSampler(sides, checked, contests, file, core=core)
    reports = _Reports(contests, [side.name for side in sides], titles, observer)

    def budget(benchmarks: int) -> float:
        # With two sides a benchmark gets ten seconds; more sides share each replicate.
        given = settings.budget_seconds is not None
        return settings.budget_for(benchmarks) * (1.0 if given else len(sides) / 2)

    def on_verdict(index: int, verdict: Verdict, spent_seconds: float) -> None:
        watch.look()
        observer.replicate(reports.title(index), verdict, spent_seconds, budget(contests.unsettled(judge)))
        # A large difference cannot become identical: report it at once.
        apart = abs(math.log(verdict.ratio)) > math.log1p(APART)
        is_open = isinstance(gate, CountGate) and gate.may_be_identical(index)
        if judge.is_answered(index) and (apart or not is_open):
            reports.decided(index, verdict)

    known = tuple(sampler.known())
    gate: Gate = NoGate()
    underway, stopped = None, False
    try:
        with contextlib.ExitStack() as stack:
            if counts:
                underway = stack.enter_context(CountsUnderWay(sides, checked, observer.counted))
                resumed = frozenset(sample.benchmark for sample in known)
                gate = CountGate(contests, underway, judge, settings, reports.decided, exact, resumed)
                sampler.is_look = gate.is_look
            outcome = run_to_verdicts(
                len(orders),
                sampler,
                judge,
                budget_seconds=budget,
                others=contests.others,
                known=known,
                retries=lambda index: orders[index].retries,
                on_verdict=on_verdict,
                gate=gate,
                wall_seconds_left=seconds_left,
            )
    except LoopStopped as stop:
        outcome, stopped = stop.outcome, True
    settled = gate.settled if isinstance(gate, CountGate) else {}
    verdicts = {index: settled.get(index, verdict) for index, verdict in enumerate(judge.verdicts())}
    for index, verdict in verdicts.items():
        if verdict is not None:
            reports.decided(index, verdict)
    noise = watch.noise()
    if counts:
        # The other cores were busy counting: use the load of other processes from before.
        noise = dataclasses.replace(noise, others_busy_share=others_busy_share)
    return DecidedSuite(
        orders,
        {
            (contests.order(index).id, contest): verdict
            for index, contest in contests.possible.items()
            if (verdict := verdicts[index]) is not None
        },
        {orders[index].id: error for index, error in outcome.failed.items()},
        CountedSuite() if underway is None else underway.so_far(),
        outcome.measuring_seconds,
        noise,
        stopped,
    )


class _Reports:
    """Reports each verdict against the reference to the observer once, when it is final."""

    def __init__(self, contests: Contests, names: Sequence[str], titles: Mapping[str, str], observer: Observer) -> None:
        self._contests, self._names, self._titles, self._observer = contests, names, titles, observer
        self._reported: set[int] = set()

    def title(self, index: int) -> str:
        """Return the title of a contest's order, with the side if there are more than two."""
        title, contest = self._titles[self._contests.order(index).id], self._contests.possible.get(index)
        return title if len(self._names) == 2 or contest is None else f"{title} on {self._names[contest.other]}"

    def decided(self, index: int, verdict: Verdict) -> None:
        contest = self._contests.possible.get(index)
        if verdict.decided and index not in self._reported and contest is not None and contest.first == 0:
            self._reported.add(index)
            self._observer.decided(self.title(index), verdict)


def _judge(contests: Contests, settings: ComparisonSettings, titles: Mapping[str, str], sides: int) -> SuiteJudge:
    judge = SuiteJudge(
        len(contests),
        settings.criteria,
        rate=settings.false_discovery_rate,
        seconds_per_replicate=REPLICATE_SECONDS * sides / 2,
        questions=[
            settings.question_of(order, titles[order.id]) for order in map(contests.order, range(len(contests)))
        ],
        most_seconds_each=settings.most_seconds_each,
        elsewhere=settings.judged_elsewhere,
    )
    for index in set(range(len(contests))) - contests.possible.keys():
        judge.settle(index)
    return judge


class CountGate:
    """Settles contests by their instructions as these become known.

    With `time` "changed", benchmarks with the same instructions are identical after a few replicates; with "none",
    nothing is timed; with "all", counts settle nothing.
    """

    def __init__(
        self,
        contests: Contests,
        counts: CountsUnderWay,
        judge: SuiteJudge,
        settings: ComparisonSettings,
        report: Callable[[int, Verdict], object],
        exact: ExactSuite = ExactSuite(),  # noqa: B008 - frozen, so sharing it is safe
        resumed: frozenset[int] = frozenset(),
    ) -> None:
        self._contests, self._counts, self._judge = contests, counts, judge
        self._settings, self._report, self._exact = settings, report, exact
        # Benchmarks that were timed before the comparison was resumed: whether more is needed depends on their counts.
        self._resumed = resumed
        # Instructions per run of contests whose sides execute the same and that are not settled yet.
        self._identical: dict[int, float] = {}
        self._differ: set[int] = set()
        # Number of replicates after which to check again those whose times differed.
        self._looks: dict[int, int] = {}
        self.settled: dict[int, Verdict] = {}

    def update(self) -> None:
        counted = set(self._counts.take())
        if self._settings.time == "all":
            return
        if counted:
            self._sort(counted, self._counts.so_far())
        for index, per_run in list(self._identical.items()):
            if self._settings.time == "none":
                self._settle_untimed(index, reason_for_identical(per_run, 0), "identical")
            elif len(self._judge.estimates(index)) >= self._looks.get(index, IDENTICAL_REPLICATES):
                self._look(index, per_run)

    def _sort(self, counted: set[str], known: CountedSuite) -> None:
        """Mark the contests with new counts that are identical."""
        for index, contest in self._contests.possible.items():
            order = self._contests.order(index)
            pair = known.pair(order.id, contest) if order.id in counted else None
            if pair is None or index in self._identical or index in self._differ or index in self.settled:
                continue
            if known.is_identical(order, contest) and not self._exact.differs(order.id, contest):
                self._identical[index] = pair[0].counts.outside_allocator_per_run
                continue
            self._differ.add(index)
            if self._settings.time == "none":
                self._settle_untimed(index, reason_for_not_timed(known.ratio(order.id, contest) or 1.0), "undecided")

    def held(self) -> frozenset[int]:
        if self._settings.time == "none":
            return frozenset(range(len(self._contests)))
        return frozenset(index for index, contest in self._contests.possible.items() if self._is_held(index, contest))

    def _is_held(self, index: int, contest: Contest) -> bool:
        order = self._contests.order(index)
        if order.processors > 1:
            # Its threads, or ranks, need all cores, and counting uses one or two of them.
            return not self._counts.is_finished
        if self._settings.time == "all":
            return False
        is_resumed = index // self._contests.others in self._resumed
        enough = is_resumed or len(self._judge.estimates(index)) >= REPLICATES_WHILE_COUNTING
        return enough and self._counts.is_pending(order.id, contest)

    def is_look(self, benchmark: int) -> bool:
        """Return whether all sides of a benchmark execute the same instructions, so that a short look is enough."""
        others = self._contests.others
        mine = [index for index in self._contests.possible if index // others == benchmark]
        return bool(mine) and all(index in self._identical for index in mine)

    def wait(self) -> bool:
        return self._counts.wait(WAIT_SECONDS)

    def may_be_identical(self, index: int) -> bool:
        """Return whether `same` may still become `identical`, and must not be reported yet."""
        contest = self._contests.possible.get(index)
        if self._settings.time != "changed" or contest is None:
            return False
        return index in self._identical or self._counts.is_pending(self._contests.order(index).id, contest)

    def _look(self, index: int, per_run: float) -> None:
        """Settle it as identical unless its times differ; if they still differ later, time it like the others."""
        estimates = self._judge.estimates(index)
        verdict = judge_identical(estimates, per_run, self._settings.criteria)
        if verdict is None and len(estimates) < MOST_IDENTICAL_REPLICATES:
            # Another process may have disturbed them for a moment.
            self._looks[index] = 2 * len(estimates)
            return
        del self._identical[index]
        self._differ.add(index)
        if verdict is not None:
            self._settle(index, verdict)

    def _settle_untimed(self, index: int, reason: str, word: VerdictWord) -> None:
        self._identical.pop(index, None)
        self._settle(index, Verdict.untimed(word, reason, self._settings.margin_of(self._contests.order(index))))

    def _settle(self, index: int, verdict: Verdict) -> None:
        self._judge.settle(index)
        self.settled[index] = verdict
        self._report(index, verdict)


class RecordingSampler:
    """Takes replicates of a suite's orders, and writes each to the file before it is judged.

    A crash then loses only one replicate.
    """

    def __init__(
        self,
        sides: Sequence[StartedSide],
        checked: CheckedPlan,
        contests: Contests,
        file: ComparisonFile,
        *,
        core: int | None = None,
    ) -> None:
        self._checked, self._contests, self._file = checked, contests, file
        contestants = checked.contestants(sides, checked.orders)
        # As many rounds of blocks as with two sides.
        self._scale = len(sides) / 2
        self._forks = ForkSampler(contestants, core=core, seconds=REPLICATE_SECONDS * self._scale)
        # Whether a benchmark needs no more than a look.
        self.is_look: Callable[[int], bool] = lambda _: False

    def sample(self, benchmark: int, turn: int) -> Sample:
        order_id = self._checked.orders[benchmark].id
        seconds = LOOK_SECONDS * self._scale if self.is_look(benchmark) else None
        taken = self._forks.take(benchmark, turn, seconds)
        replicate = replicate_record(order_id, taken, self._checked.places(order_id))
        self._file.keep(replicate)
        return self._sample(benchmark, replicate)

    def known(self) -> list[Sample]:
        """Return the samples of the interrupted comparison."""
        places = {order.id: index for index, order in enumerate(self._checked.orders)}
        return [
            self._sample(places[replicate.order_id], replicate)
            for replicate in self._file.replicates
            if replicate.layout == 0
            and replicate.order_id in places
            and tuple(replicate.seconds_per_run) == self._checked.places(replicate.order_id)
        ]

    def _sample(self, benchmark: int, replicate: ComparisonReplicate) -> Sample:
        # From the file's whole nanoseconds: a resumed comparison has the same numbers, hence the same verdict.
        seconds = replicate.seconds_per_run
        estimates = tuple(
            None if contest is None else estimate_replicate(seconds[contest.first], seconds[contest.other])
            for contest in self._contests.of_order(benchmark)
        )
        return Sample(benchmark, estimates, replicate.measuring_seconds)
