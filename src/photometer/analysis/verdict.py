"""Verdict: the result of a comparison of two sides, always of the second against the first.

It is a frozen record without text layout or colour. ``judge`` makes it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from photometer.model.records import HighEnd, LowEnd

if TYPE_CHECKING:
    import pandas

    from photometer.report.plots import Plot

VerdictWord = Literal["slower", "probably slower", "undecided", "probably faster", "faster", "same", "identical"]
# In the order in which a reader wants to see them.
VERDICT_WORDS: tuple[VerdictWord, ...] = get_args(VerdictWord)
# Certain at the strict error rate, and beyond the margin.
CHANGED_WORDS: tuple[VerdictWord, ...] = ("slower", "faster")
PROBABLE_WORDS: tuple[VerdictWord, ...] = ("probably slower", "probably faster")


def style_name(word: str) -> str:
    """Return the name of a word's colour, and of its class in a page: `probably-slower`."""
    return word.replace(" ", "-")


@dataclass(frozen=True)
class DetectableChange:
    """Smallest relative change that would be called four times in five: now, and with two and four times the time."""

    now: HighEnd
    twice_the_time: HighEnd
    four_times_the_time: HighEnd


@dataclass(frozen=True)
class Verdict:
    """The second side against the first: ``ratio`` 1.01 is one per cent slower.

    "Same" is the same within ``within``, a share: no difference beyond that (docs/how-verdicts-work.md has all words).
    ``interval`` holds the true ratio with probability ``confidence`` at all looks together; an end may be 0 or
    infinite while there are too few replicates. ``p`` and ``log_evidence`` are valid at any stopping time:
    ``log_evidence`` is the log of an e-value, which is what a suite's correction takes.
    """

    ALWAYS: ClassVar[tuple[str, ...]] = ("notes",)

    verdict: VerdictWord
    ratio: float
    interval: tuple[LowEnd, HighEnd]
    difference_seconds: float
    difference_interval_seconds: tuple[LowEnd, HighEnd]
    base_seconds: float
    p: float
    log_evidence: float
    replicates: int
    margin: float
    confidence: float
    false_alarm: float
    paired: bool
    detectable: DetectableChange | None
    reason: str
    notes: tuple[str, ...] = ()
    # Whose time it is and by which clock, if it is not the host's.
    measured_by: str = ""
    # What "same" means; None for other words, and in files of earlier versions, where it was the margin.
    within: float | None = None

    @classmethod
    def untimed(cls, word: VerdictWord, reason: str, margin: float) -> Verdict:
        """Return the verdict of a benchmark that was counted and not timed."""
        return cls(
            verdict=word,
            ratio=1.0,
            interval=(0.0, math.inf),
            difference_seconds=0.0,
            difference_interval_seconds=(-math.inf, math.inf),
            base_seconds=0.0,
            p=1.0,
            log_evidence=0.0,
            replicates=0,
            margin=margin,
            confidence=0.0,
            false_alarm=0.0,
            paired=True,
            detectable=None,
            reason=reason,
        )

    @property
    def decided(self) -> bool:
        """Return whether it is any word but undecided."""
        return self.verdict != "undecided"

    @property
    def bound(self) -> float | None:
        """Return the share that "same" stays within; None for other words."""
        if self.verdict != "same":
            return None
        return self.margin if self.within is None else self.within

    @property
    def is_final(self) -> bool:
        """Return whether more time would not change the word: a certain change, or the same within the margin."""
        if self.bound is not None:
            return self.bound <= self.margin
        return self.verdict in ("slower", "faster", "identical")

    @property
    def words(self) -> str:
        """Return the word as it is shown: `same within 0.5 %`, `probably slower`."""
        from photometer.analysis.verdict_reason import bound_text

        return self.verdict if self.bound is None else f"same within {bound_text(self.bound)}"

    @property
    def has_change(self) -> bool:
        """Return whether it has a change and an interval to show: identical sides are not timed for that."""
        return self.replicates > 0 and self.verdict != "identical"

    @property
    def detectable_now(self) -> float | None:
        """Return the smallest change that would have been found; None if unknown, or if one that large was not."""
        if self.detectable is None or not math.isfinite(self.detectable.now):
            return None
        was_called = self.verdict in ("slower", "faster", "same", "identical")
        return self.detectable.now if was_called or self.detectable.now > abs(self.ratio - 1.0) else None

    def exceeds(self, share: float) -> bool | None:
        """Return whether it is slower by more than a share: yes, no, or not known (None), as its interval says.

        Yes also needs the evidence that "slower" needs.
        """
        if self.verdict == "identical":
            return False
        if self.verdict == "undecided":
            return None
        low, high = self.interval
        if high <= 1.0 + share:
            return False
        return True if low > 1.0 + share and self.verdict == "slower" else None

    def __str__(self) -> str:
        """Return two lines: the verdict with its figures, and why."""
        from photometer.analysis.verdict_reason import headline

        why = "; ".join(part for part in (self.reason.rstrip("."), self.measured_by, *self.notes) if part)
        return f"{headline(self)}\n{' '.join(why.split())}."

    def __repr__(self) -> str:
        from photometer.model.units import change, span

        replicates = f"{self.replicates} replicate{'' if self.replicates == 1 else 's'}"
        return f"<photometer.Verdict {self.words}: {change(self.ratio)} ({span(self.interval)}), {replicates}>"

    def to_dataframe(self) -> pandas.DataFrame:
        """Return a DataFrame with one row. Needs pandas."""
        from photometer.analysis.result_rows import rows_of
        from photometer.model.data_frame import data_frame

        return data_frame(rows_of(self))

    def plot(self) -> Plot:
        """Return a picture of the change and its interval, for a notebook or a file."""
        from photometer.report.plots import plot_verdict

        return plot_verdict(self)

    def _repr_html_(self) -> str:
        from photometer.report.notebook import verdict_html

        return verdict_html(self)
