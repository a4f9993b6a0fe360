"""MetricChange: a metric of a benchmark's own on both sides of a comparison, run by run, and how it changed.

Both sides start from the same seed, so their runs correspond one by one. Values that differ by no more than rounding
are the same; a metric is higher or lower if it is so in every run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Literal

from photometer.model.units import percent
from photometer.stats.summary import quantile

MetricWord = Literal["identical", "same", "higher", "lower", "mixed"]
# Sums in another order differ by some 1e-7 of float32; a few steps of training make some times that of it.
ROUNDING = 1e-5


@dataclasses.dataclass(frozen=True)
class MetricChange:
    """The values of both sides, one per run."""

    KIND: ClassVar[str] = "comparison_metric"

    order_id: str
    title: str
    name: str
    verdict: MetricWord
    base: tuple[float, ...]
    branch: tuple[float, ...]
    # The position of the side that is compared with the reference.
    side: int = 1

    @property
    def medians(self) -> tuple[float, float]:
        return quantile(sorted(self.base), 0.5), quantile(sorted(self.branch), 0.5)

    @property
    def sentence(self) -> str:
        """Return `loss of MLP: higher by 1.2 % in every run, 0.693 on the base and 0.701 on the branch`."""
        base, branch = self.medians
        values = f"{base:.5g} on the base and {branch:.5g} on the branch"
        head = f"{self.name} of {self.title}"
        if self.verdict in ("higher", "lower"):
            by = f" by {percent(abs(branch / base - 1.0))}" if base else ""
            return f"{head}: {self.verdict}{by} in every run, {values}"
        if self.verdict == "mixed":
            return f"{head}: differs, in some runs up and in others down; {values}"
        return f"{head}: {self.verdict}, {base:.5g}"


def judge_metric(
    order_id: str, title: str, name: str, base: Sequence[float], branch: Sequence[float], side: int = 1
) -> MetricChange:
    """Return the change; the runs are paired in the order in which they were done."""
    signs = {_sign(ours, theirs) for ours, theirs in zip(base, branch, strict=True)}
    word: MetricWord
    if tuple(base) == tuple(branch):
        word = "identical"
    elif signs <= {0}:
        word = "same"
    elif signs <= {0, 1}:
        word = "higher"
    else:
        word = "lower" if signs <= {0, -1} else "mixed"
    return MetricChange(order_id, title, name, word, tuple(base), tuple(branch), side)


def _sign(base: float, branch: float) -> int:
    if abs(branch - base) <= ROUNDING * max(abs(base), abs(branch)):
        return 0
    return 1 if branch > base else -1
