"""Correction for the number of questions asked: keep the share of false "changed" verdicts in a suite below a rate.

In: one e-value (as its log) or one p-value a benchmark. Out: which of them stand, or adjusted values. The e-value
form needs no independence between benchmarks and stays valid when each of them stopped by its own evidence; it is
the one to use here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from photometer.errors import DefinitionError
from photometer.stats.anytime_evidence import FloatArray


def e_adjusted(log_evidence: ArrayLike) -> FloatArray:
    """Adjusted p-values by e-BH (Wang and Ramdas): reject those at or below the false discovery rate wanted.

    With K values, the k-th largest must reach K/(rate·k). No assumption about how the benchmarks depend on each other.
    """
    logs = np.asarray(log_evidence, dtype=np.float64)
    order = np.argsort(-logs, kind="stable")
    ranks = np.arange(1, logs.size + 1)
    rates = np.exp(np.minimum(0.0, np.log(logs.size) - np.log(ranks) - logs[order]))
    return _step_up(rates, order)


def benjamini_hochberg(p_values: ArrayLike, *, any_dependence: bool = False) -> FloatArray:
    """Adjusted p-values by Benjamini and Hochberg; with ``any_dependence``, by Benjamini and Yekutieli."""
    values = np.asarray(p_values, dtype=np.float64)
    if values.size and not bool(np.all((values >= 0.0) & (values <= 1.0))):
        raise DefinitionError("A p-value lies outside 0 to 1.", remedy="Pass probabilities, not percentages or logs.")
    order = np.argsort(values, kind="stable")
    ranks = np.arange(1, values.size + 1)
    penalty = float(np.sum(1.0 / ranks)) if any_dependence else 1.0
    return _step_up(np.minimum(1.0, values[order] * values.size * penalty / ranks), order)


def log_evidence_needed(log_evidence: Sequence[float], *, rate: float, alone: float) -> float:
    """Log-evidence at which one more benchmark would stand corrected, and stand alone at error rate ``alone``.

    The more changes the suite has already shown, the less the next one needs, as in e-BH itself.
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
    """Each rate becomes the least of its own and all weaker ones', then goes back to its place."""
    adjusted = np.empty_like(sorted_rates)
    adjusted[order] = np.minimum.accumulate(sorted_rates[::-1])[::-1]
    return adjusted
