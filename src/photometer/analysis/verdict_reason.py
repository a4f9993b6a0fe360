"""The words that come with a verdict: numbers in, one or two plain sentences out.

Apart from ``judge`` so that the decision can be read without the prose, and the prose without the decision.
"""

from __future__ import annotations

import math

from photometer.analysis.verdict import Verdict, VerdictWord
from photometer.model.units import format_seconds


def percent(relative: float) -> str:
    """Two significant digits: 0.42 %, 8.1 %, 120 %."""
    value = 100.0 * relative
    if not math.isfinite(value):
        return "any amount"
    if value == 0.0:
        return "0 %"
    digits = max(0, 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 4)}f} %"


def span(interval: tuple[float, float]) -> str:
    """Return the interval of a ratio as signed per cent."""
    low, high = (
        ("+" if end > 1.0 else "") + percent(end - 1.0) if math.isfinite(end) else "anything" for end in interval
    )
    return f"{low} to {high}"


def change(ratio: float) -> str:
    """Return the change that a ratio stands for, as signed per cent."""
    return ("+" if ratio > 1.0 else "") + percent(ratio - 1.0)


def headline(verdict: Verdict) -> str:
    """Return the first line about a verdict: `slower: +1.2 %, from 1.20 us to 1.21 us per run`."""
    base, branch = verdict.base_seconds, verdict.base_seconds + verdict.difference_seconds
    times = f"from {format_seconds(base, 4)} to {format_seconds(branch, 4)} per run"
    return f"{verdict.verdict}: {change(verdict.ratio)}, {times}"


def reason_for_replicates(
    word: VerdictWord,
    *,
    ratio: float,
    interval: tuple[float, float],
    margin: float,
    p: float,
    changed: bool,
    count: int,
) -> str:
    """Why live replicates led to this word."""
    what = f"interval {span(interval)} after {count} replicate{'' if count == 1 else 's'}"
    if word in ("slower", "faster"):
        return (
            f"{word} by {percent(abs(ratio - 1.0))}; {what}; chance alone would look like this at p = {p:.1g} or less."
        )
    if word == "same":
        return f"within the margin of {percent(margin)} either way; {what}."
    if changed:
        direction = "slower" if ratio > 1.0 else "faster"
        return f"{direction}, but not surely by more than the margin of {percent(margin)}; {what}."
    return f"neither a change nor its absence is certain yet; {what}, margin {percent(margin)}."


def reason_for_identical(instructions_per_run: float, replicates: int) -> str:
    """Why no long timing was needed."""
    same = f"executes the same instructions on both sides, {instructions_per_run:,.0f} per run, function by function"
    return f"{same}; {replicates} replicates show no difference in time either." if replicates else f"{same}."


def reason_for_not_timed(instruction_ratio: float) -> str:
    """Why there is no verdict on the time."""
    size = "" if instruction_ratio == 1.0 else f" ({change(instruction_ratio)})"
    return f"executes other instructions{size}; it was not timed."


def note_changed_within_margin(ratio: float) -> str:
    """Return the note on a change that is real and too small to matter."""
    direction = "slower" if ratio > 1.0 else "faster"
    return f"{direction} by {percent(abs(ratio - 1.0))}: a change is certain, but it is inside the margin"


def note_typical_differs(ratio: float, typical_interval: tuple[float, float]) -> str:
    """Return the note on quiet blocks that say one thing and typical ones that say another."""
    return (
        f"the quietest blocks changed by {percent(ratio - 1.0)}, the typical ones by {span(typical_interval)}: "
        "the change may touch only some of the runs"
    )


def reason_for_unpaired(word: VerdictWord, *, ratio: float, interval: tuple[float, float], detectable: float) -> str:
    """Why two separate runs led to this word, and what their separation costs."""
    change_words = {
        "slower": f"slower by {percent(abs(ratio - 1.0))}",
        "faster": f"faster by {percent(abs(ratio - 1.0))}",
        "same": "within the margin",
        "identical": "the same instructions",
        "undecided": "no difference was shown",
    }[word]
    return (
        f"{change_words}; interval {span(interval)}. The sides were not measured side by side, so what differs between "
        f"processes and hours is part of the difference: changes below {percent(detectable)} may be no more than that, "
        "however long the runs. "
        "Compare both sides live to see changes of a few tenths of a per cent."
    )


def reason_for_suite(word: VerdictWord, *, benchmarks: int, rate: float) -> str:
    """Why a verdict that stood alone was taken back."""
    return (
        f"looked {word}, but among {benchmarks} benchmarks that is not enough to keep false verdicts "
        f"under {percent(rate)}; more time would tell."
    )
