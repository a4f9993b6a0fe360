"""A comparison of two environments for the terminal: the answer first, then a row a benchmark, what matters first.

In: an EnvironmentComparison and a width. Out: one string. Below a row that is not "same" stands why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.verdict import Verdict
from photometer.analysis.verdict_reason import percent
from photometer.model.units import select_unit
from photometer.model.visible_text import visible
from photometer.report.text_width import pad, width_of, wrap

_COLOURS = {"slower": "\033[1;31m", "faster": "\033[32m", "undecided": "\033[33m", "same": ""}
_PLAIN = "\033[0m"
_HEADS = ("verdict", "change", "interval", "base", "difference", "could see", "benchmark")
# A log of hundreds of lines belongs to the results file; its last lines name the error.
LOG_LINES = 6


def render_verdicts(comparison: EnvironmentComparison, width: int = 100, colour: bool = False) -> str:
    lines = [headline(comparison), ""]
    lines += [f"  base    {visible(comparison.base)}", f"  branch  {visible(comparison.branch)}"]
    for warning in comparison.warnings:
        lines += _indented(f"! {warning}", width, "  ", "    ")
    lines.append("")
    lines += _rows(comparison, width, colour)
    lines += _failures(comparison, width)
    lines += _foot(comparison, width)
    return "\n".join(lines) + "\n"


def headline(comparison: EnvironmentComparison) -> str:
    """The answer in one line."""
    counts = [(word, comparison.count(word)) for word in ("slower", "faster", "same", "undecided")]
    told = [f"{count} {word}" for word, count in counts if count]
    told += [f"{len(comparison.failures)} failed"] if comparison.failures else []
    told += [f"{len(comparison.not_reached)} not reached"] if comparison.not_reached else []
    answer = {
        "slower": "The branch is slower.",
        "failed": "Something failed; nothing is slower in what ran.",
        "undecided": "Undecided: nothing is shown to be slower, and not everything shown not to be.",
        "fine": "Nothing is slower.",
        "nothing": "Nothing ran.",
    }[comparison.outcome]
    return f"{answer} {', '.join(told)}." if told else answer


def duration(seconds: float, *, signed: bool = False) -> str:
    """Three significant digits with a unit of their own: 1.23 us, +9.8 ns."""
    unit, scale = select_unit(abs(seconds)) if seconds else ("ns", 1e-9)
    value = seconds / scale
    digits = max(0, 2 - (math.floor(math.log10(abs(value))) if value else 0))
    return f"{value:{'+' if signed else ''}.{digits}f} {unit}"


def change_text(ratio: float) -> str:
    return ("+" if ratio > 1.0 else "") + percent(ratio - 1.0)


def interval_text(interval: tuple[float, float]) -> str:
    low, high = (change_text(end) if math.isfinite(end) and end > 0.0 else "any" for end in interval)
    return f"{low} … {high}"


def detectable_text(verdict: Verdict) -> str:
    """The smallest change that would have been seen with the time that was spent."""
    if verdict.detectable is None or not math.isfinite(verdict.detectable.now):
        return "?"
    return percent(verdict.detectable.now)


def detail_lines(result: ComparisonResult) -> list[str]:
    """What stands below a row: the cause, warnings, and for an undecided one what more time would give."""
    lines = [result.cause] if result.cause else []
    lines += [f"! {warning}" for warning in result.warnings]
    if result.verdict == "undecided":
        lines.append(result.judged.reason)
        lines += more_time(result.judged)
    lines += result.judged.notes
    return lines


def more_time(verdict: Verdict) -> list[str]:
    detectable = verdict.detectable
    if detectable is None or not math.isfinite(detectable.four_times_the_time) or not verdict.paired:
        return []
    return [
        f"a change of {percent(detectable.twice_the_time)} would be seen with twice the time, "
        f"of {percent(detectable.four_times_the_time)} with four times"
    ]


def _rows(comparison: EnvironmentComparison, width: int, colour: bool) -> Iterator[str]:
    results = comparison.by_importance
    if not results:
        return
    cells = [
        (
            result.verdict,
            change_text(result.ratio),
            interval_text(result.interval),
            duration(result.judged.base_seconds),
            duration(result.difference_seconds, signed=True),
            detectable_text(result.judged),
        )
        for result in results
    ]
    widths = [max(width_of(row[i]) for row in (_HEADS[:6], *cells)) for i in range(6)]
    yield "  " + "  ".join(pad(head, size) for head, size in zip(_HEADS, (*widths, 0), strict=True)).rstrip()
    for result, row in zip(results, cells, strict=True):
        padded = [pad(text, size) for text, size in zip(row, widths, strict=True)]
        if colour and _COLOURS[result.verdict]:
            padded[0] = f"{_COLOURS[result.verdict]}{padded[0]}{_PLAIN}"
        yield "  " + "  ".join([*padded, visible(result.title).replace("\n", " ")])
        for line in detail_lines(result):
            yield from _indented(line, width, "      ", "        ")


def _failures(comparison: EnvironmentComparison, width: int) -> Iterator[str]:
    for failure in comparison.failures:
        side = f" on the {failure.side} side" if failure.side else ""
        yield from _indented(f"failed{side}: {failure.title}: {failure.message}", width, "  ", "    ")
        for line in failure.log.strip().splitlines()[-LOG_LINES:]:
            yield f"      {visible(line)}"
    for title in comparison.not_reached:
        yield f"  not reached within the budget: {visible(title)}"


def _foot(comparison: EnvironmentComparison, width: int) -> list[str]:
    if not comparison.results:
        return []
    foot = (
        f"Margin {percent(comparison.margin)}; at most {percent(comparison.false_discovery_rate)} of the verdicts "
        "slower and faster are false, on average. Intervals hold at all looks together."
    )
    measured = f" {comparison.measuring_seconds:.1f} s measured." if comparison.measuring_seconds else ""
    return ["", *wrap(foot + measured, width)]


def _indented(text: str, width: int, first: str, rest: str) -> list[str]:
    lines = wrap(visible(text), max(width - len(rest), 20))
    return [(first if index == 0 else rest) + line for index, line in enumerate(lines)]
