"""Verdict: the result of a comparison of two sides, always of the second against the first, and the words for it.

It is a frozen record without text layout or colour. ``judge`` makes it. The words are apart from ``judge`` so that the
decision can be read without the prose: numbers in, one or two plain sentences out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from photometer.model.records import HighEnd, LowEnd
from photometer.model.units import change, format_seconds, percent, span

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


# A forecast further ahead than this is no number to plan with.
MOST_TIMES = 20.0


def bound_text(bound: float) -> str:
    """Return the bound of "same" in short: 0.5 %, 10 %."""
    return f"{100.0 * bound:g} %"


def headline(verdict: Verdict) -> str:
    """Return the first line about a verdict: `slower: +1.2 %, from 1.20 us to 1.21 us per run`."""
    base, branch = verdict.base_seconds, verdict.base_seconds + verdict.difference_seconds
    if not verdict.has_change:
        return f"{verdict.words}: {format_seconds(base, 4)} per run" if verdict.replicates else verdict.words
    times = f"from {format_seconds(base, 4)} to {format_seconds(branch, 4)} per run"
    return f"{verdict.words}: {change(verdict.ratio)}, {times}"


def reason_for_replicates(
    word: VerdictWord,
    *,
    ratio: float,
    interval: tuple[float, float],
    within: float | None,
    p: float,
    count: int,
    times_to_certain: float | None,
) -> str:
    """Return why live replicates led to this word, and how to make it certain if it is not."""
    what = f"interval {span(interval)} after {count} replicate{'' if count == 1 else 's'}"
    size = percent(abs(ratio - 1.0))
    if word in ("slower", "faster"):
        return f"{word} by {size}; {what}; the probability of this by chance is at most {p:.1g}."
    if word in ("probably slower", "probably faster"):
        return f"{word} by {size}; {what}; {_more_time(times_to_certain)} would make it certain."
    if within is not None:
        return f"no difference above {bound_text(within)}; {what}."
    return f"the times scatter too much to say; {what}. {_remedy(interval)}"


def reason_for_too_few(word: VerdictWord, count: int, fewest: int) -> str:
    """Return why a verdict that looks clear is not yet certain: one or two outliers may cause it."""
    return (
        f"looks {word}, but {count} replicate{' is' if count == 1 else 's are'} too few for a verdict, which needs "
        f"{fewest}; {_more_time(fewest / count)} would decide."
    )


def _more_time(times: float | None) -> str:
    """Return `about 3 times the time`: forecasts of more than MOST_TIMES are too far off to be given a number."""
    if times is None or not times <= MOST_TIMES:
        return "far more time"
    return f"about {max(2, math.ceil(times))} times the time"


def _remedy(interval: tuple[float, float]) -> str:
    """Return how to narrow an interval that is too wide: less other load, or more time."""
    low, high = interval
    # Intervals shrink with the root of the time; 0.1 is the widest bound that "same" may have.
    times = (math.log(high / low) / 2.0 / math.log1p(0.1)) ** 2 if low > 0.0 and math.isfinite(high) else None
    return f"Stop other programs, or give it {_more_time(times)}."


def reason_for_identical(instructions_per_run: float, replicates: int) -> str:
    """Return why no long timing was needed."""
    same = f"executes the same instructions on both sides, {instructions_per_run:,.0f} per run, function by function"
    return f"{same}; {replicates} replicates show no difference in time either." if replicates else f"{same}."


def reason_for_not_timed(instruction_ratio: float) -> str:
    """Return why there is no verdict on the time."""
    size = "" if instruction_ratio == 1.0 else f" ({change(instruction_ratio)})"
    return f"executes different instructions{size}; it was not timed."


def note_changed_within_margin(ratio: float) -> str:
    """Return the note on a change that is real and too small to matter."""
    direction = "slower" if ratio > 1.0 else "faster"
    return f"{direction} by {percent(abs(ratio - 1.0))}: the change is certain, but it may be within the margin"


def note_typical_differs(ratio: float, typical_interval: tuple[float, float]) -> str:
    """Return the note for quiet blocks and typical ones that disagree."""
    return (
        f"the quietest blocks changed by {percent(ratio - 1.0)}, the typical ones by {span(typical_interval)}: "
        "the change may touch only some of the runs"
    )


def reason_for_unpaired(
    word: VerdictWord, *, ratio: float, interval: tuple[float, float], within: float | None, detectable: float
) -> str:
    """Return why two separate runs led to this word, and the cost of their separation."""
    change_words = f"{word} by {percent(abs(ratio - 1.0))}"
    if within is not None:
        change_words = f"no difference above {bound_text(within)}"
    elif word == "undecided":
        change_words = "no difference was shown"
    return (
        f"{change_words}; interval {span(interval)}. The sides were not measured side by side, so the difference "
        "includes what varies from process to process and from hour to hour. A change below "
        f"{percent(detectable)} may be no more than that, however long the runs were. "
        "Compare both sides live to see changes of a few tenths of a per cent."
    )


def reason_for_suite(alone: VerdictWord, word: VerdictWord, *, benchmarks: int, rate: float) -> str:
    """Return why a verdict that was certain alone was reduced."""
    return (
        f"{word}: looked {alone}, but among {benchmarks} benchmarks that is not enough to keep false verdicts "
        f"under {percent(rate)}; more time would decide."
    )
