"""Correction for multiple tests: keep the share of false "changed" verdicts in a suite below a rate.

In: the log of one e-value per benchmark. Out: adjusted p-values, or the evidence that the next benchmark needs. The
correction needs no independence between benchmarks, and stays valid if each of them stopped by its own evidence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from photometer.errors import DefinitionError
from photometer.stats.anytime_evidence import FloatArray


def e_adjusted(log_evidence: ArrayLike) -> FloatArray:
    """Return adjusted p-values by e-BH (Wang and Ramdas): reject those at or below the false discovery rate wanted.

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
            f"Error rates lie between 0 and 1, not at {rate} and {alone}.", remedy="Pass 0.05 for five per cent."
        )
    count = len(log_evidence)
    if count == 0:
        return float(-np.log(alone))
    standing = int(np.sum(e_adjusted(log_evidence) <= rate))
    rank = min(count, standing + 1)
    return float(max(-np.log(alone), np.log(count) - np.log(rate) - np.log(rank)))


def _step_up(sorted_rates: FloatArray, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> FloatArray:
    """Lower each rate to the least of its own and all weaker ones', then put it back in its place."""
    adjusted = np.empty_like(sorted_rates)
    adjusted[order] = np.minimum.accumulate(sorted_rates[::-1])[::-1]
    return adjusted
