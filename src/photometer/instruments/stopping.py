"""When to stop measuring: a rule checks the samples so far and returns the reason to stop, if there is one.

In: times per run so far and the seconds spent on them. Out: None to continue, or the reason to stop in words.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import Protocol

from photometer.errors import DefinitionError
from photometer.stats.summary import median_interval, quantile

# An interval or spread from fewer samples than this is not reliable.
FEWEST_SAMPLES = 4
FEWEST_FOR_PRECISION = 12


class StoppingRule(Protocol):
    def reason_to_stop(self, times: Sequence[float], seconds_spent: float) -> str | None:
        """Return None to continue, or the reason to stop."""

    def next_look(self, samples: int) -> int:
        """Return after how many samples to check again: checking thousands of samples every time is slow."""


@dataclasses.dataclass(frozen=True)
class RunFor:
    """Stop after measuring for this long."""

    seconds: float

    def __post_init__(self) -> None:
        _check_positive("min_run_time", self.seconds, zero_allowed=True)

    def reason_to_stop(self, times: Sequence[float], seconds_spent: float) -> str | None:
        return f"ran for {self.seconds:g} s" if seconds_spent >= self.seconds else None

    def next_look(self, samples: int) -> int:
        # This overshoots by at most a sixteenth, and does not sum up thousands of short blocks each time.
        return samples + 1 + samples // 16


@dataclasses.dataclass(frozen=True)
class SpreadBelow:
    """Stop when the interquartile range is below a share of the median (torch's rule), or at `max_run_time`."""

    threshold: float
    min_run_time: float
    max_run_time: float

    def __post_init__(self) -> None:
        _check_positive("threshold", self.threshold)
        _check_positive("max_run_time", self.max_run_time)

    def reason_to_stop(self, times: Sequence[float], seconds_spent: float) -> str | None:
        if seconds_spent > self.max_run_time:
            return f"max_run_time of {self.max_run_time:g} s is used up"
        if len(times) < FEWEST_SAMPLES or seconds_spent < self.min_run_time:
            return None
        ordered = sorted(times)
        spread = (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / quantile(ordered, 0.5)
        return (
            f"the spread is {spread:.3f} of the median, below {self.threshold:g}" if spread < self.threshold else None
        )

    def next_look(self, samples: int) -> int:
        return max(samples + 1, int(samples * 1.1))


@dataclasses.dataclass(frozen=True)
class Precise:
    """Stop when the 95 % interval of the median is within ± this share of it, or at `max_run_time`.

    Unlike a spread, an interval shrinks with more data, with the square root of the time, on a noisy machine, too.
    """

    precision: float
    min_run_time: float
    max_run_time: float

    def __post_init__(self) -> None:
        _check_positive("precision", self.precision)
        _check_positive("max_run_time", self.max_run_time)

    def reason_to_stop(self, times: Sequence[float], seconds_spent: float) -> str | None:
        if seconds_spent > self.max_run_time:
            return f"max_run_time of {self.max_run_time:g} s is used up"
        if len(times) < FEWEST_FOR_PRECISION or seconds_spent < self.min_run_time:
            return None
        low, high = median_interval(times, seconds=seconds_spent)
        low = max(low, min(times))
        width = (high - low) / 2 / quantile(sorted(times), 0.5)
        return f"the interval is ± {width * 100:.2f} % of the median" if width <= self.precision else None

    def next_look(self, samples: int) -> int:
        # Each check may stop by chance; waiting for 15 % more samples keeps both that and the cost small.
        return max(samples + 4, int(samples * 1.15))


def _check_positive(name: str, value: float, *, zero_allowed: bool = False) -> None:
    if not isinstance(value, numbers.Real):
        raise DefinitionError(f"{name} must be a number, not {type(value).__name__}", remedy=f"Give {name} in seconds.")
    if not (value > 0 or (zero_allowed and value == 0)):
        raise DefinitionError(
            f"{name} must be positive, not {value!r}", remedy=f"Give {name} in seconds or as a share."
        )
