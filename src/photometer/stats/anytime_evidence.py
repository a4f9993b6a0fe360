"""Evidence that replicates lie above a point, valid however often it is checked: an e-process.

In: replicate log-ratios minus the point of the hypothesis "the true change is at most this point". Out: the log of
the evidence after each replicate. If the hypothesis holds, the evidence ever reaches 1/α with probability at most α
(Ville's inequality), so it may be checked after every replicate, and measuring may stop and resume at any time. Four
kinds of bet run side by side and are averaged; ``log_evidence_above`` lists what each assumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

# Sizes of change the bets are shaped for, as log-ratios: 0.1 % (1 ns on a 1.2 us statement) to 9 %, in steps of √2;
# and spreads of the replicates: 0.05 % to 0.8 %, in steps of 2.
SHIFTS: tuple[float, ...] = tuple(0.001 * 2.0 ** (k / 2.0) for k in range(14))
SPREADS: tuple[float, ...] = tuple(0.0005 * 2.0**k for k in range(5))
# Most replicates of `x * w` agree to 0.15 %, but one in six had a fork 1 to 3 % off (its pages collide in the cache).
# Tails as heavy as Student's with three degrees make such a replicate nearly worthless instead of decisive.
DEGREES_OF_FREEDOM = 3.0

# What a bump bet keeps of its stake on a replicate that misses the bump: one in six may be an outlier. In simulation
# with such outliers 0.3 found +0.83 % in fewer replicates than 0.15 (29 against 33 at the 99 % point).
BUMP_KEPT = 0.3

# Scale of a Student distribution with two degrees of freedom that replicates stay well inside: it allows one in nine
# beyond 2 % and one in thirty beyond 4 %. Of 792 replicates of 0.15 s on a two-core machine with other load, four
# statements, one in 47 lay beyond 2 % and one beyond 4 %.
REFERENCE_SCALE = 0.0075
# Exponents of the bets κ·u**(κ−1) on the reference's tail probability u: each integrates to one over the unit interval.
REFERENCE_EXPONENTS: tuple[float, ...] = (0.1, 0.2, 0.35)

# Prior precisions of the effect, in units of the replicates' spread, for the Student bets: effects of about one and
# of about three spreads.
EFFECT_PRECISIONS: tuple[float, ...] = (1.0, 0.1)
# A smaller spread is taken for chance (or for a coarse clock) and replaced by this: the tightest set measured had a
# spread of 0.11 %.
MINIMUM_SPREAD = 0.001

# Shares of the stake: coin, bump, reference, Student. A share w delays a verdict by log(1/w): one replicate or two.
SHARES: tuple[float, float, float, float] = (0.25, 0.2, 0.35, 0.2)


# A bias that all replicates of a pair of servers may share (their own pages, start order), as a log-ratio. No number
# of replicates of one pair shows it, so every hypothesis allows for it and every interval is widened by it. It was
# 0.05 % when all replicates had one memory layout; with one drawn for each, medians of 24 replicates of 48 pairs
# that execute the same lay as far from zero as their scatter explains (z = 0.9 for a statement with itself, 1.3 with
# its set-up in another order).
SHARED_BIAS = 0.0002


@dataclass(frozen=True)
class ChangeEvidence:
    """Evidence for a change so far: logs of the current e-values, and the p-value of the highest evidence so far."""

    log_slower: float
    log_faster: float
    log_changed: float
    p: float


def change_evidence(
    log_ratios: ArrayLike, *, shared_bias: float = SHARED_BIAS, reference_scale: float = REFERENCE_SCALE
) -> ChangeEvidence:
    """Return the evidence against "no change beyond the shared bias", in each direction and in either.

    ``log_changed`` is the log of the two directions' mean; compare it with a threshold: if nothing changed, it ever
    passes log(1/α) with probability at most α. The p-value uses the highest evidence so far.
    """
    data = np.asarray(log_ratios, dtype=np.float64)
    if data.size == 0:
        return ChangeEvidence(0.0, 0.0, 0.0, 1.0)
    slower, faster = log_evidence_above(
        np.stack([data - shared_bias, -data - shared_bias]), reference_scale=reference_scale
    )
    changed = np.logaddexp(slower, faster) - np.log(2.0)
    p = float(np.exp(-max(0.0, changed.max())))
    return ChangeEvidence(float(slower[-1]), float(faster[-1]), float(changed[-1]), p)


def log_evidence_above(excess: ArrayLike, *, reference_scale: float = REFERENCE_SCALE) -> FloatArray:
    """Return the log-evidence after each replicate against "the true change is at most zero" (the last axis is time).

    ``excess`` is a replicate's log-ratio minus the point tested; pass ``-excess`` for evidence of lying below.

    - *coin* bets assume symmetric noise: with nothing changed, swapping the sides flips a replicate's sign, so that
      given its size its sign is a fair coin. No variance is estimated. Nine replicates are the fewest that can
      convict.
    - *bump* bets also assume that small errors are more common than large ones: replicates that agree on one value
      well away from zero are then worth more than a coin each.
    - *reference* bets assume only that replicates are no worse than a very noisy machine's (``reference_scale``). They
      let three or four replicates convict a gross change.
    - *Student* bets are the always-valid t-test, for normal noise of unknown spread: the fastest of all if the noise
      is well-behaved, and slow rather than wrong if outliers inflate the spread.
    """
    values = np.asarray(excess, dtype=np.float64)
    parts = (
        log_coin_evidence(values),
        log_bump_evidence(values),
        log_reference_evidence(values, reference_scale=reference_scale),
        log_student_evidence(values),
    )
    weighted = np.stack([np.log(share) + part for share, part in zip(SHARES, parts, strict=True)])
    mixed: FloatArray = np.logaddexp.reduce(weighted, axis=0)
    return mixed


def log_coin_evidence(excess: FloatArray) -> FloatArray:
    """Bet on the signs, sized by the magnitudes: a martingale for independent noise symmetric about zero."""
    shift, spread = _shapes()
    size = np.abs(excess)[..., np.newaxis]
    core = DEGREES_OF_FREEDOM * spread**2
    # Log of f(size − shift) / f(size + shift) for a Student density f: how much likelier "above" is, given the size.
    half_log_odds = (
        (DEGREES_OF_FREEDOM + 1.0) / 4.0 * (np.log(core + (size + shift) ** 2) - np.log(core + (size - shift) ** 2))
    )
    growth = np.cumsum(np.log1p(np.sign(excess)[..., np.newaxis] * np.tanh(half_log_odds)), axis=-2)
    return _log_mean_exp(growth)


def log_bump_evidence(excess: FloatArray) -> FloatArray:
    """Bet that replicates gather around a shift: a supermartingale for symmetric noise with one peak, at zero."""
    shift, spread = _shapes()
    distance = (excess[..., np.newaxis] - shift) / spread
    bump = (1.0 + distance**2 / DEGREES_OF_FREEDOM) ** (-(DEGREES_OF_FREEDOM + 1.0) / 2.0)
    growth = np.cumsum(np.log(BUMP_KEPT + (1.0 - BUMP_KEPT) * _bump_payout() * bump), axis=-2)
    return _log_mean_exp(growth)


def log_reference_evidence(excess: FloatArray, *, reference_scale: float = REFERENCE_SCALE) -> FloatArray:
    """Bet more as the excess grows: a supermartingale if the noise's upper tail is nowhere above the reference's."""
    scaled = excess / reference_scale
    root = np.sqrt(2.0 + scaled**2)
    # Upper tail of Student's distribution with two degrees of freedom; the first form does not cancel for large values.
    tail = np.where(scaled > 0.0, 1.0 / (root * (root + np.abs(scaled))), 0.5 * (1.0 - scaled / root))
    exponents = np.asarray(REFERENCE_EXPONENTS)
    growth = np.cumsum(np.log(exponents) + (exponents - 1.0) * np.log(tail)[..., np.newaxis], axis=-2)
    return _log_mean_exp(growth)


def log_student_evidence(excess: FloatArray) -> FloatArray:
    """Bet by a t-test (Lai; Wang and Ramdas): normal mixture over the effect, any spread; zero below the point.

    If the mean lies above the point, a true value below the point would be refuted even more strongly, so the two-sided
    bet serves the one-sided hypothesis.
    """
    count = np.arange(1, excess.shape[-1] + 1)
    mean = np.cumsum(excess, axis=-1) / count
    # Welford's sum of squares by its increments: no cancellation if the mean is far above the spread.
    previous_mean = np.concatenate([np.zeros_like(mean[..., :1]), mean[..., :-1]], axis=-1)
    squares = np.cumsum((excess - previous_mean) * (excess - mean), axis=-1)
    squares = np.maximum(squares, count * MINIMUM_SPREAD**2)
    # t² over its degrees of freedom.
    strength = (count * mean**2 / squares)[..., np.newaxis]
    precision = np.asarray(EFFECT_PRECISIONS)
    shrink = precision / (count[:, np.newaxis] + precision)
    growth = 0.5 * np.log(shrink) + count[:, np.newaxis] / 2.0 * (np.log1p(strength) - np.log1p(shrink * strength))
    # One replicate has no spread, so it says nothing; a mean below the point is no evidence at all.
    evidence = np.where(count > 1, _log_mean_exp(growth), 0.0)
    return np.where((mean > 0.0) | (count == 1), evidence, -np.inf)


@lru_cache(maxsize=1)
def _shapes() -> tuple[FloatArray, FloatArray]:
    """Return all pairs of shift and spread but those whose spread exceeds the shift: such bets are too flat to grow."""
    shift, spread = (grid.ravel() for grid in np.meshgrid(SHIFTS, SPREADS))
    sharp = shift >= spread
    return shift[sharp], spread[sharp]


@lru_cache(maxsize=1)
def _bump_payout() -> FloatArray:
    """Return the largest payouts at which no symmetric single-peaked noise expects to win.

    Such noise is a mixture of uniforms on [−r, r] (Khinchin), so it is enough if the bump's mean over [−r, r]
    times the payout is at most one for every r.
    """
    # Not scipy.stats, whose import takes a second.
    from scipy import special

    shift, spread = _shapes()
    # The best r for the bettor ends just past the bump, between half a shift and a shift and many spreads. 4,000 points
    # find the mean's flat maximum to 1e-6; the payout is rounded down by a thousandth to be on the safe side.
    radius = np.geomspace(0.5 * min(SHIFTS), 10.0 * max(SHIFTS), 4000)[:, np.newaxis]
    share = special.stdtr(DEGREES_OF_FREEDOM, (radius - shift) / spread)
    share = share - special.stdtr(DEGREES_OF_FREEDOM, (-radius - shift) / spread)
    # The density of Student's distribution at its peak.
    peak = special.gamma((DEGREES_OF_FREEDOM + 1.0) / 2.0) / special.gamma(DEGREES_OF_FREEDOM / 2.0)
    peak /= np.sqrt(DEGREES_OF_FREEDOM * np.pi)
    area = share / peak * spread
    payout: FloatArray = 0.999 / (area / (2.0 * radius)).max(axis=0)
    return payout


def _log_mean_exp(values: FloatArray) -> FloatArray:
    mean: FloatArray = np.logaddexp.reduce(values, axis=-1) - np.log(values.shape[-1])
    return mean
