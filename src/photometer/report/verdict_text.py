"""A comparison of two environments as text for the terminal, and as Markdown for a pull request.

In: an EnvironmentComparison. Out: one string: the outcome in the first line, then one row per benchmark, the most
important ones first. Causes and notes stand below a row; Markdown folds them, and benchmarks that did not change.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.failing_line import with_failing_line
from photometer.analysis.verdict import Verdict
from photometer.analysis.verdict_reason import percent
from photometer.model.units import select_unit
from photometer.model.visible_text import visible
from photometer.report.escape import markdown_text
from photometer.report.text_width import pad, width_of, wrap

_COLOURS = {"slower": "\033[1;31m", "faster": "\033[32m", "undecided": "\033[33m", "same": "", "identical": ""}
_PLAIN = "\033[0m"
_HEADS = ("verdict", "change", "interval", "base", "difference", "detectable", "benchmark")
_MARKS = {"slower": "🔴", "failed": "🔴", "undecided": "🟡", "fine": "🟢", "nothing": "⚪"}
# Markdown shows these verdicts and folds the others.
_SHOWN = ("slower", "faster", "undecided")
# The results file has the whole log; its last lines name the error.
LOG_LINES = 6


def render_verdicts(comparison: EnvironmentComparison, width: int = 100, colour: bool = False) -> str:
    """Return the text for a terminal of this width."""
    lines = [headline(comparison), ""]
    lines += [f"  base    {visible(comparison.base)}", f"  branch  {visible(comparison.branch)}"]
    for warning in comparison.warnings:
        lines += _indented(f"! {warning}", width, "  ", "    ")
    lines.append("")
    lines += _rows(comparison, width, colour)
    lines += _sweeps(comparison, width)
    lines += _failures(comparison, width)
    lines += _foot(comparison, width)
    return "\n".join(lines) + "\n"


def render_causes(comparison: EnvironmentComparison, before: EnvironmentComparison, width: int = 100) -> str:
    """Return what has become known since `before` was printed: causes, memory, metrics. Empty if nothing has."""
    known = {result.order_id: detail_lines(result) for result in before.results}
    lines: list[str] = []
    for result in comparison.by_importance:
        new = [line for line in detail_lines(result) if line not in known.get(result.order_id, ())]
        if new:
            lines.append(f"  {result.verdict}  {visible(result.title)}".replace("\n", " "))
            for line in new:
                lines += _indented(line, width, "      ", "        ")
    if comparison.metrics and not before.metrics:
        lines += _sweeps(dataclasses.replace(comparison, sweeps=()), width)
    for warning in comparison.warnings:
        if warning not in before.warnings:
            lines += _indented(f"! {warning}", width, "  ", "    ")
    return "\n".join(["Why:", *lines]) + "\n" if lines else ""


def headline(comparison: EnvironmentComparison) -> str:
    """Return the outcome in one line."""
    counts = [(word, comparison.count(word)) for word in ("slower", "faster", "same", "identical", "undecided")]
    parts = [f"{count} {word}" for word, count in counts if count]
    accepted = sum(bool(result.accepted) and result.verdict == "slower" for result in comparison.results)
    parts += [f"{accepted} of the slower accepted"] if accepted else []
    parts += memory_parts(comparison)
    parts += [f"{len(comparison.failures)} failed"] if comparison.failures else []
    parts += [f"{len(comparison.not_reached)} not reached"] if comparison.not_reached else []
    answer = {
        "slower": "The branch is slower.",
        "failed": "Something failed; of what ran, nothing is slower.",
        "undecided": "Undecided: nothing is shown to be slower, but not everything could be decided.",
        "fine": "Nothing is slower but what is accepted." if accepted else "Nothing is slower.",
        "nothing": "Nothing ran.",
    }[comparison.outcome]
    return f"{answer} {', '.join(parts)}." if parts else answer


def memory_parts(comparison: EnvironmentComparison) -> list[str]:
    """Return `2 allocate more`, and how many allocate less: verdicts of their own beside those of time."""
    counts = [(word, len(comparison.memory_changes(word))) for word in ("more", "less")]
    counts.append(("otherwise", len(comparison.memory_changes("mixed"))))
    return [f"{count} allocate{'s' if count == 1 else ''} {word}" for word, count in counts if count]


def duration(seconds: float, *, signed: bool = False) -> str:
    """Return three significant digits and the unit that suits them: 1.23 us, +9.84 ns."""
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
    """Return the smallest change that the measurement could have detected in the time it took."""
    if verdict.detectable is None or not math.isfinite(verdict.detectable.now):
        return "?"
    return percent(verdict.detectable.now)


def detail_lines(result: ComparisonResult) -> list[str]:
    """Return the lines below a row: cause, warnings, notes and, if it is undecided, what more time would show."""
    lines = [f"accepted: {result.accepted}"] if result.accepted else []
    lines += [result.cause] if result.cause else []
    lines += [f"memory: {result.memory.sentence}"] if result.memory is not None and result.memory.sentence else []
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


def _word(result: ComparisonResult) -> str:
    return "accepted" if result.accepted and result.verdict == "slower" else result.verdict


def _figures(result: ComparisonResult) -> tuple[str, ...]:
    """Return the cells between the verdict and the title, as `_HEADS` names them."""
    if not result.judged.replicates:
        return ("–",) * 5
    return (
        change_text(result.ratio),
        interval_text(result.interval),
        duration(result.judged.base_seconds),
        duration(result.difference_seconds, signed=True),
        detectable_text(result.judged),
    )


def _rows(comparison: EnvironmentComparison, width: int, colour: bool) -> Iterator[str]:
    results = comparison.by_importance
    if not results:
        return
    cells = [(_word(result), *_figures(result)) for result in results]
    widths = [max(width_of(row[i]) for row in (_HEADS[:6], *cells)) for i in range(6)]
    yield "  " + "  ".join(pad(head, size) for head, size in zip(_HEADS, (*widths, 0), strict=True)).rstrip()
    for result, row in zip(results, cells, strict=True):
        padded = [pad(text, size) for text, size in zip(row, widths, strict=True)]
        if colour and _COLOURS.get(row[0]):
            padded[0] = f"{_COLOURS[row[0]]}{padded[0]}{_PLAIN}"
        yield "  " + "  ".join([*padded, visible(result.title).replace("\n", " ")])
        for line in detail_lines(result):
            yield from _indented(line, width, "      ", "        ")


def _sweeps(comparison: EnvironmentComparison, width: int) -> Iterator[str]:
    if comparison.sweeps:
        yield "  over sizes:"
    for sweep in comparison.sweeps:
        yield from _indented(sweep.sentence, width, "    ", "      ")
    if comparison.metrics:
        yield "  metrics:"
    for metric in comparison.metrics:
        yield from _indented(metric.sentence, width, "    ", "      ")


def _failures(comparison: EnvironmentComparison, width: int) -> Iterator[str]:
    for failure in comparison.failures:
        side = f" on the {failure.side} side" if failure.side else ""
        message = with_failing_line(failure.message, failure.log)
        yield from _indented(f"failed{side}: {failure.title}: {message}", width, "  ", "    ")
        for line in failure.log.strip().splitlines()[-LOG_LINES:]:
            yield f"      {visible(line)}"
    for title in comparison.not_reached:
        yield f"  not reached within the budget: {visible(title)}"


def _foot(comparison: EnvironmentComparison, width: int) -> list[str]:
    if not comparison.results:
        return []
    foot = (
        f"Changes below {comparison.margin_words} count as none. At most {percent(comparison.false_discovery_rate)} "
        "of the verdicts slower and faster are false, on average; intervals are right in 95 of 100 comparisons."
    )
    measured = f" {comparison.measuring_seconds:.1f} s measured." if comparison.measuring_seconds else ""
    return ["", *wrap(foot + measured, width)]


def _indented(text: str, width: int, first: str, rest: str) -> list[str]:
    lines = wrap(visible(text), max(width - len(rest), 20))
    return [(first if index == 0 else rest) + line for index, line in enumerate(lines)]


def render_verdicts_markdown(comparison: EnvironmentComparison) -> str:
    """Return Markdown for a pull request: the outcome first, then changes; the rest is folded."""
    parts = [f"{_MARKS[comparison.outcome]} **{_inline(headline(comparison))}**"]
    parts.append(f"Base: {_inline(comparison.base)}<br>\nBranch: {_inline(comparison.branch)}")
    parts += [f"- ⚠️ {_inline(warning)}" for warning in comparison.warnings]
    shown = [result for result in comparison.by_importance if result.verdict in _SHOWN]
    same = [result for result in comparison.by_importance if result.verdict not in _SHOWN]
    if shown:
        parts.append(_markdown_table(shown))
    if same:
        parts.append(_folded(f"{len(same)} same", _markdown_table(same)))
    said = [sweep.sentence for sweep in comparison.sweeps] + [metric.sentence for metric in comparison.metrics]
    if said:
        parts.append("\n".join(f"- {_inline(sentence)}" for sentence in said))
    details = _markdown_details(comparison.by_importance)
    if details:
        parts.append(_folded("Causes and notes", details))
    if comparison.failures or comparison.not_reached:
        parts.append(_folded("Without a verdict", _markdown_failures(comparison)))
    if comparison.results:
        parts.append(
            f"<sub>Margin {percent(comparison.margin)}. At most {percent(comparison.false_discovery_rate)} of the "
            "verdicts slower and faster are false, on average.</sub>"
        )
    return "\n\n".join(parts) + "\n"


def _markdown_table(results: Sequence[ComparisonResult]) -> str:
    lines = ["| " + " | ".join(_HEADS) + " |", "| :--- | ---: | ---: | ---: | ---: | ---: | :--- |"]
    for result in results:
        word = f"**{_word(result)}**" if _word(result) == "slower" else _word(result)
        lines.append("| " + " | ".join((word, *_figures(result), markdown_text(result.title))) + " |")
    return "\n".join(lines)


def _markdown_details(results: Sequence[ComparisonResult]) -> str:
    lines = []
    for result in results:
        details = detail_lines(result)
        if details:
            lines.append(f"- {_inline(result.title)}")
            lines += [f"  - {_inline(line)}" for line in details]
    return "\n".join(lines)


def _markdown_failures(comparison: EnvironmentComparison) -> str:
    lines = []
    for failure in comparison.failures:
        side = f" on the {failure.side} side" if failure.side else ""
        message = with_failing_line(failure.message, failure.log)
        lines.append(f"- failed{_inline(side)}: {_inline(failure.title)}: {_inline(message)}")
    lines += [f"- not reached within the budget: {_inline(title)}" for title in comparison.not_reached]
    return "\n".join(lines)


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{_inline(summary)}</summary>\n\n{content}\n\n</details>"


def _inline(text: str) -> str:
    return markdown_text(text).replace("<br>", " ")
