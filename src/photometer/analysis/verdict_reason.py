"""The words that come with a verdict: numbers in, one or two plain sentences out.

Apart from ``judge`` so that the decision can be read without the prose, and the prose without the decision.
"""

from __future__ import annotations

import math

from photometer.analysis.verdict import Verdict, VerdictWord
from photometer.model.units import change, format_seconds, percent, span

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
        return f"{word} by {size}; {what}; chance alone would look like this at p = {p:.1g} or less."
    if word in ("probably slower", "probably faster"):
        return f"{word} by {size}; {what}; {_more_time(times_to_certain)} would make it certain."
    if within is not None:
        return f"no difference above {bound_text(within)}; {what}."
    return f"the times scatter too much to say; {what}. {_remedy(interval)}"


def reason_for_too_few(word: VerdictWord, count: int, fewest: int) -> str:
    """Return why a verdict that looks clear is not yet certain: one or two outliers may cause it."""
    return (
        f"looks {word}, but {count} replicate{' is' if count == 1 else 's are'} too few for a verdict, which needs "
        f"{fewest}; {_more_time(fewest / count)} would tell."
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
    return f"{direction} by {percent(abs(ratio - 1.0))}: a change is certain, but not that it is beyond the margin"


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
        f"{change_words}; interval {span(interval)}. The sides were not measured side by side, so what differs between "
        f"processes and hours is part of the difference: changes below {percent(detectable)} may be no more than that, "
        "however long the runs. "
        "Compare both sides live to see changes of a few tenths of a per cent."
    )


def reason_for_suite(alone: VerdictWord, word: VerdictWord, *, benchmarks: int, rate: float) -> str:
    """Return why a verdict that was certain alone was reduced."""
    return (
        f"{word}: looked {alone}, but among {benchmarks} benchmarks that is not enough to keep false verdicts "
        f"under {percent(rate)}; more time would decide."
    )
