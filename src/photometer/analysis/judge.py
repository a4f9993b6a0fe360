"""Judge replicates, or two separate runs: a Verdict; and the verdicts of a suite, corrected for their number.

``judge_replicates`` may be called after every replicate: the error rate of slower and faster holds however often it
is called, so a run stops at the first verdict that is final. The correction for multiple tests keeps the share of false
"changed" verdicts in a suite below a rate. Pure: the same data give the same verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from photometer.analysis.verdict import (
    CHANGED_WORDS,
    PROBABLE_WORDS,
    DetectableChange,
    Verdict,
    VerdictWord,
    note_changed_within_margin,
    note_typical_differs,
    reason_for_identical,
    reason_for_replicates,
    reason_for_suite,
    reason_for_unpaired,
)
from photometer.errors import DefinitionError, MeasurementError
from photometer.stats.anytime_evidence import REFERENCE_SCALE, SHARED_BIAS, FloatArray, change_evidence
from photometer.stats.replicate import ReplicateEstimate, hodges_lehmann, replicate_interval, smallest_detectable_change
from photometer.stats.unpaired import estimate_unpaired


def e_adjusted(log_evidence: ArrayLike) -> FloatArray:
    """Return adjusted p-values by e-BH (Wang and Ramdas): reject those at or below the false discovery rate.

    With K values, the k-th largest must reach K/(rate·k). The benchmarks may depend on each other in any way.
    """
    logs = np.asarray(log_evidence, dtype=np.float64)
    order = np.argsort(-logs, kind="stable")
    ranks = np.arange(1, logs.size + 1)
    rates = np.exp(np.minimum(0.0, np.log(logs.size) - np.log(ranks) - logs[order]))
    return _step_up(rates, order)


def log_evidence_needed(log_evidence: Sequence[float], *, rate: float, alone: float) -> float:
    """Return the log-evidence with which one more benchmark passes the correction, and alone the error rate ``alone``.

    The more changes the suite has already shown, the less evidence the next one needs, as in e-BH itself.
    """
    if not (0.0 < rate < 1.0 and 0.0 < alone < 1.0):
        raise DefinitionError(
            f"Error rates must be between 0 and 1, not {rate} and {alone}.", remedy="Pass 0.05 for five per cent."
        )
    count = len(log_evidence)
    if count == 0:
        return float(-np.log(alone))
    standing = int(np.sum(e_adjusted(log_evidence) <= rate))
    rank = min(count, standing + 1)
    return float(max(-np.log(alone), np.log(count) - np.log(rate) - np.log(rank)))


def _step_up(sorted_rates: FloatArray, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> FloatArray:
    """Lower each rate to the minimum of its own and all weaker ones', and restore the order."""
    adjusted = np.empty_like(sorted_rates)
    adjusted[order] = np.minimum.accumulate(sorted_rates[::-1])[::-1]
    return adjusted


# Changes below this are not worth a word. 0.3 % is 4 ns on a 1.2 us statement: just under the 5 ns we promise to find.
DEFAULT_MARGIN = 0.003
# Times of several threads differ by 1 to 3 % from process to process: 0.3 % would take minutes to tell apart.
DEFAULT_THREADS_MARGIN = 0.02
# Chance of calling identical sides different, over all looks. 300 comparisons of identical sides then bring more than
# three false alarms (one per cent) in under one run of a hundred.
DEFAULT_FALSE_ALARM = 0.0025
DEFAULT_CONFIDENCE = 0.95
# Share of false verdicts among a suite's slower and faster ones.
DEFAULT_FALSE_DISCOVERY_RATE = 0.05
# What "same" may be within: the first of these that holds the interval. A wider interval helps nobody: undecided.
BOUNDS: tuple[float, ...] = (0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
# Chance of "probably" without cause.
PROBABLE_ERROR = 0.05
# Fewer replicates of noise with two states lie on one side of zero by chance in more than PROBABLE_ERROR (2 / 2**5).
FEWEST_FOR_PROBABLY = 6
# How many standard deviations of the replicates the reference allows for at the least. Without this, replicates that
# scatter by 10 % (several threads on a busy machine) gave a false alarm in half of all comparisons.
SCATTER_ALLOWANCE = 1.0
# Replicates that show whether what executes the same instructions takes the same time: two may both be strays.
IDENTICAL_REPLICATES = 3
# If they were apart, what else ran for a moment may be why: looks follow at twice as many each, up to this.
MOST_IDENTICAL_REPLICATES = 12
# Memory layouts alone move a single replicate by a few per cent; more is worth a full measurement.
APART = 0.05
# Share of a change by which quiet and typical blocks may differ: 127 and 126 % say the same.
TYPICAL_APART = 0.1
# A p-value p is turned into evidence κ·p**(κ−1); one half is the usual choice between weak and strong p-values.
_CALIBRATOR_EXPONENT = 0.5


@dataclass(frozen=True)
class Criteria:
    """The conditions for each word.

    A suite sets ``log_evidence_needed`` if it needs more than one benchmark alone would.
    """

    margin: float = DEFAULT_MARGIN
    false_alarm: float = DEFAULT_FALSE_ALARM
    confidence: float = DEFAULT_CONFIDENCE
    log_evidence_needed: float | None = None
    shared_bias: float = SHARED_BIAS
    reference_scale: float = REFERENCE_SCALE

    def __post_init__(self) -> None:
        if self.margin < 0.0:
            raise DefinitionError(f"A margin of {self.margin} is negative.", remedy="Pass 0.01 for one per cent.")
        for name, share in (("false_alarm", self.false_alarm), ("confidence", self.confidence)):
            if not 0.0 < share < 1.0:
                raise DefinitionError(f"{name} is {share}, not between 0 and 1.", remedy="Pass 0.05 for five per cent.")

    @property
    def log_needed(self) -> float:
        alone = -math.log(self.false_alarm)
        return alone if self.log_evidence_needed is None else max(alone, self.log_evidence_needed)


DEFAULT_CRITERIA = Criteria()


def default_margin(threads: int) -> float:
    """Return the relative change that does not matter unless somebody says otherwise."""
    return DEFAULT_MARGIN if threads == 1 else DEFAULT_THREADS_MARGIN


def judge_replicates(
    replicates: Sequence[ReplicateEstimate], criteria: Criteria = DEFAULT_CRITERIA, *, forecast: bool = True
) -> Verdict:
    """Judge what the replicates say so far, in the order they were taken.

    Slower or faster: enough evidence of a change, and the estimate lies outside the margin. Otherwise the interval is
    the answer (`grade`). ``forecast=False``, for looks in between, leaves out what takes 0.1 s and no decision needs:
    the detectable change and the note on typical blocks.
    """
    if not replicates:
        raise MeasurementError("No replicate to judge.", remedy="Take at least one replicate first.")
    log_ratios = np.array([replicate.log_ratio for replicate in replicates])
    evidence = change_evidence(
        log_ratios, shared_bias=criteria.shared_bias, reference_scale=_reference_scale(log_ratios, criteria)
    )
    sureness = {"confidence": criteria.confidence, "shared_bias": criteria.shared_bias}
    log_interval = replicate_interval(log_ratios, **sureness)
    centre = hodges_lehmann(log_ratios)
    changed = evidence.p <= math.exp(-criteria.log_needed)
    graded = grade(
        centre,
        log_interval,
        changed=changed,
        probable=len(replicates) >= FEWEST_FOR_PROBABLY or evidence.p <= PROBABLE_ERROR,
        margin=criteria.margin,
    )
    ratio, interval = math.exp(centre), _ratios(log_interval)

    notes: list[str] = []
    if graded.word == "same" and changed:
        notes.append(note_changed_within_margin(ratio))
    if forecast:
        typical = replicate_interval([r.typical_log_ratio for r in replicates], **sureness)
        apart = max(typical[0] - centre, centre - typical[1])
        if apart > max(math.log1p(criteria.margin), TYPICAL_APART * max(map(abs, (centre, *typical)))):
            notes.append(note_typical_differs(ratio, _ratios(typical)))

    base_seconds = float(np.median([replicate.seconds_per_run_a for replicate in replicates]))
    return Verdict(
        verdict=graded.word,
        ratio=ratio,
        interval=interval,
        difference_seconds=base_seconds * math.expm1(centre),
        difference_interval_seconds=(base_seconds * (interval[0] - 1.0), base_seconds * (interval[1] - 1.0)),
        base_seconds=base_seconds,
        p=evidence.p,
        log_evidence=evidence.log_changed,
        replicates=len(replicates),
        margin=criteria.margin,
        confidence=criteria.confidence,
        false_alarm=criteria.false_alarm,
        paired=True,
        detectable=_detectable(graded, log_ratios, criteria) if forecast else None,
        reason=reason_for_replicates(
            graded.word,
            ratio=ratio,
            interval=interval,
            within=graded.within,
            p=evidence.p,
            count=len(replicates),
            times_to_certain=times_to_certain(evidence.log_changed, criteria.log_needed),
        ),
        notes=tuple(notes),
        within=graded.within,
    )


def judge_identical(
    replicates: Sequence[ReplicateEstimate], instructions_per_run: float, criteria: Criteria = DEFAULT_CRITERIA
) -> Verdict | None:
    """Judge a short look at a benchmark with identical instructions; None if its times differ, so it must be timed.

    Counts do not show time without instructions: waiting, denormals, a colder cache.
    """
    if abs(float(np.median([replicate.log_ratio for replicate in replicates]))) > math.log1p(APART):
        return None
    judged = judge_replicates(replicates, criteria, forecast=False)
    reason = reason_for_identical(instructions_per_run, len(replicates))
    return replace(judged, verdict="identical", reason=reason, notes=(), within=None)


def judge_unpaired(
    base_seconds: Sequence[float],
    branch_seconds: Sequence[float],
    criteria: Criteria = DEFAULT_CRITERIA,
    *,
    frozen_layout: bool = False,
    relative_error_base: float = 0.0,
    relative_error_branch: float = 0.0,
) -> Verdict:
    """Judge two runs that were not interleaved, one time per process.

    ``frozen_layout`` says that address randomisation was off in both.
    """
    estimate = estimate_unpaired(
        base_seconds,
        branch_seconds,
        frozen_layout=frozen_layout,
        confidence=criteria.confidence,
        relative_error_a=relative_error_base,
        relative_error_b=relative_error_branch,
    )
    changed = estimate.p <= math.exp(-criteria.log_needed)
    graded = grade(estimate.log_ratio, estimate.interval, changed=changed, probable=True, margin=criteria.margin)
    ratio, interval = math.exp(estimate.log_ratio), _ratios(estimate.interval)
    seen = max(math.expm1(estimate.detectable(math.exp(-criteria.log_needed))), criteria.margin)
    base = float(np.median(np.asarray(base_seconds)))
    log_evidence = math.log(_CALIBRATOR_EXPONENT) + (_CALIBRATOR_EXPONENT - 1.0) * math.log(max(estimate.p, 1e-300))
    return Verdict(
        verdict=graded.word,
        ratio=ratio,
        interval=interval,
        difference_seconds=base * (ratio - 1.0),
        difference_interval_seconds=(base * (interval[0] - 1.0), base * (interval[1] - 1.0)),
        base_seconds=base,
        p=estimate.p,
        log_evidence=log_evidence,
        replicates=min(len(base_seconds), len(branch_seconds)),
        margin=criteria.margin,
        confidence=criteria.confidence,
        false_alarm=criteria.false_alarm,
        paired=False,
        # More time does not shrink a process's own bias, so the three figures are one.
        detectable=DetectableChange(seen, seen, seen),
        reason=reason_for_unpaired(graded.word, ratio=ratio, interval=interval, within=graded.within, detectable=seen),
        within=graded.within,
    )


def correct_for_suite(
    verdicts: Sequence[Verdict], *, rate: float = DEFAULT_FALSE_DISCOVERY_RATE, elsewhere: int = 0
) -> tuple[Verdict, ...]:
    """Reduce every slower or faster that does not hold among so many benchmarks (e-BH) to probable.

    `elsewhere` are benchmarks of the suite that others judge: they count as if they showed nothing. A verdict that
    holds in its part then also holds in the whole suite.
    """
    if not 0.0 < rate < 1.0:
        raise DefinitionError(f"A false discovery rate of {rate} is not between 0 and 1.", remedy="Pass 0.05 for 5 %.")
    adjusted = e_adjusted([*(verdict.log_evidence for verdict in verdicts), *[0.0] * elsewhere])
    return tuple(
        _taken_back(verdict, benchmarks=len(verdicts) + elsewhere, rate=rate)
        if verdict.verdict in CHANGED_WORDS and p > rate
        else verdict
        for verdict, p in zip(verdicts, adjusted[: len(verdicts)], strict=True)
    )


def _taken_back(verdict: Verdict, *, benchmarks: int, rate: float) -> Verdict:
    """Return the verdict of the interval, for a change whose evidence is enough alone, but not among so many."""
    low, high = (math.log(end) if end > 0.0 else -math.inf for end in verdict.interval)
    graded = grade(math.log(verdict.ratio), (low, high), changed=False, probable=True, margin=verdict.margin)
    return replace(
        verdict,
        verdict=graded.word,
        within=graded.within,
        reason=reason_for_suite(verdict.verdict, graded.word, benchmarks=benchmarks, rate=rate),
        notes=(*verdict.notes, f"alone: {verdict.reason}"),
    )


@dataclass(frozen=True)
class Graded:
    """A word, and the bound of "same"."""

    word: VerdictWord
    within: float | None = None


def grade(centre: float, log_interval: tuple[float, float], *, changed: bool, probable: bool, margin: float) -> Graded:
    """Return the word for a change and its interval, both logs of ratios.

    `changed`: the evidence of a change suffices for the strict error rate; `probable`: the interval rests on enough to
    say so of a change at its own confidence. A change inside the margin is never called.
    """
    within = bound_of(log_interval, margin)
    matters = abs(centre) > math.log1p(margin)
    if within is not None and within <= margin:
        return Graded("same", within)
    if changed and matters:
        return Graded("slower" if centre > 0.0 else "faster")
    if probable and matters and not log_interval[0] <= 0.0 <= log_interval[1]:
        return Graded(PROBABLE_WORDS[0] if centre > 0.0 else PROBABLE_WORDS[1])
    return Graded("undecided") if within is None else Graded("same", within)


def bound_of(log_interval: tuple[float, float], margin: float) -> float | None:
    """Return the smallest bound that the interval fits into, of the usual ones and the margin; None if it is wider."""
    reach = max(-log_interval[0], log_interval[1])
    return next((bound for bound in sorted({*BOUNDS, margin}) if reach < math.log1p(bound)), None)


def times_to_certain(log_evidence: float, log_needed: float) -> float | None:
    """Return how many times the time so far would complete the evidence, which grows in proportion; None if never."""
    return log_needed / log_evidence if log_evidence > 0.0 else None


def _reference_scale(log_ratios: np.ndarray[tuple[int, ...], np.dtype[np.float64]], criteria: Criteria) -> float:
    """Return the reference whose tails cover replicates: wider if these scatter more than it allows for."""
    if log_ratios.size < 2:
        return criteria.reference_scale
    return max(criteria.reference_scale, SCATTER_ALLOWANCE * float(np.std(log_ratios, ddof=1)))


def _detectable(
    graded: Graded, log_ratios: np.ndarray[tuple[int, ...], np.dtype[np.float64]], criteria: Criteria
) -> DetectableChange:
    """Return the smallest change that would have been seen, with as many replicates and with more.

    "Same" has the whole interval inside its bound: a change as large as that would have moved it out.
    """
    if graded.within is not None:
        return DetectableChange(graded.within, graded.within, graded.within)
    now, twice, four_times = (
        max(
            criteria.margin,
            math.expm1(
                smallest_detectable_change(
                    log_ratios,
                    log_needed=criteria.log_needed,
                    time_factor=factor,
                    shared_bias=criteria.shared_bias,
                    reference_scale=criteria.reference_scale,
                )
            ),
        )
        for factor in (1.0, 2.0, 4.0)
    )
    return DetectableChange(now, twice, four_times)


def _ratios(log_interval: tuple[float, float]) -> tuple[float, float]:
    return (math.exp(log_interval[0]), math.exp(log_interval[1]))
