"""HTML for notebooks: what a Measurement, a Verdict or an EnvironmentComparison shows as the result of a cell.

In: one of these records. Out: a fragment without script and without outside resources. Text from users is escaped;
colours are the page's own or half-transparent, so that they suit light and dark notebooks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.verdict import Verdict
from photometer.analysis.verdict_reason import percent, span
from photometer.model.measurement import Measurement
from photometer.model.units import format_seconds
from photometer.report.escape import html_lines, html_text
from photometer.stats.summary import quantile

WIDTH, HEIGHT = 240, 48
MOST_BARS = 40
FEWEST_SAMPLES_TO_DRAW = 5
# The histogram ends here and the last bar counts everything beyond it: one slow block must not flatten all other bars.
UPPER_FENCE = 3.0
# A notebook cell is no place for hundreds of rows; benchmarks without a change are left out first.
MOST_ROWS = 40
_BACKGROUNDS = {
    "slower": "rgba(248,81,73,.3)",
    "faster": "rgba(56,139,213,.3)",
    "undecided": "rgba(219,160,40,.25)",
    "same": "rgba(128,128,128,.12)",
    "identical": "rgba(128,128,128,.12)",
}
_CELL = "padding:.2em .8em;text-align:left"
_NUMBER = "padding:.2em .8em;text-align:right;white-space:nowrap"


def measurement_html(m: Measurement) -> str:
    """Return the title, the median with its interval, a histogram of the blocks, and warnings, in one `<div>`."""
    rows = [f"<div><b>{html_lines(m.title)}</b>{_description(m)}</div>"]
    if not m.raw_times:
        return f'<div style="line-height:1.5">{rows[0]}<div>no samples</div></div>'
    low, high = m.interval
    interval = f" (95 % interval {format_seconds(low)} to {format_seconds(high)})" if math.isfinite(high) else ""
    rows.append(f"<div>median <b>{format_seconds(m.median)}</b>{interval}</div>")
    if len(m.raw_times) >= FEWEST_SAMPLES_TO_DRAW:
        rows.append(histogram_svg(m.times, m.median))
    blocks = "1 block" if len(m.raw_times) == 1 else f"{len(m.raw_times)} blocks"
    runs = "1 run" if m.number_per_run == 1 else f"{m.number_per_run} runs"
    threads = "1 thread" if m.num_threads == 1 else f"{m.num_threads} threads"
    rows.append(f'<div style="opacity:.75">{blocks} of {runs}, {threads}</div>')
    for suspicion in m.warnings:
        rows.append(
            f'<div style="border-left:3px solid #d29922;padding-left:.5em">{html_lines(suspicion.message)} '
            f'<span style="opacity:.75">{html_lines(suspicion.remedy)}</span></div>'
        )
    return f'<div style="line-height:1.5">{"".join(rows)}</div>'


def _description(m: Measurement) -> str:
    parts = [part for part in (m.description, m.env) if part]
    return "".join(f' <span style="opacity:.75">{html_lines(part)}</span>' for part in parts)


def histogram_svg(times: Sequence[float], median: float) -> str:
    """Return bars over seconds per run, with a line at the median."""
    ordered = sorted(times)
    low, high = ordered[0], _upper_end(ordered)
    counts = bar_counts(ordered, low, high)
    tallest = max(counts)
    bar_width = WIDTH / len(counts)
    bars = "".join(
        f'<rect x="{i * bar_width:.1f}" y="{HEIGHT * (1 - count / tallest):.1f}" width="{bar_width * 0.9:.1f}" '
        f'height="{HEIGHT * count / tallest:.1f}"/>'
        for i, count in enumerate(counts)
        if count
    )
    position = WIDTH * (median - low) / (high - low) if high > low else bar_width / 2
    beyond = sum(1 for t in ordered if t > high)
    more = f" ({beyond} beyond)" if beyond else ""
    return (
        f'<div><svg width="{WIDTH}" height="{HEIGHT + 2}" viewBox="0 0 {WIDTH} {HEIGHT + 2}" role="img" '
        f'aria-label="histogram of {len(ordered)} blocks" style="display:block;overflow:visible">'
        f'<g fill="currentColor" opacity=".55">{bars}</g>'
        f'<path d="M0 {HEIGHT + 1}H{WIDTH}" stroke="currentColor" opacity=".4"/>'
        f'<path d="M{position:.1f} 0V{HEIGHT}" stroke="#e5534b" stroke-width="2"/></svg>'
        f'<div style="display:flex;justify-content:space-between;width:{WIDTH}px;font-size:.8em;opacity:.75">'
        f"<span>{format_seconds(low, 3)}</span><span>{format_seconds(high, 3)}{more}</span></div></div>"
    )


def _upper_end(ordered: Sequence[float]) -> float:
    middle, upper = quantile(ordered, 0.5), quantile(ordered, 0.75)
    return min(ordered[-1], upper + UPPER_FENCE * max(upper - middle, (upper - ordered[0]) / 4))


def bar_counts(ordered: Sequence[float], low: float, high: float) -> list[int]:
    """Return how many values lie in each bar; values past `high` are counted in the last one."""
    if high <= low:
        return [len(ordered)]
    bars = max(min(MOST_BARS, round(2 * math.sqrt(len(ordered)))), 2)
    counts = [0] * bars
    for value in ordered:
        counts[min(int((value - low) / (high - low) * bars), bars - 1)] += 1
    return counts


def verdict_html(verdict: Verdict) -> str:
    """Return the verdict, the change with its interval, and the reason."""
    change = (
        "" if not math.isfinite(verdict.ratio) else f" {_signed(verdict.ratio)} ({html_text(span(verdict.interval))})"
    )
    time = f", {_signed_seconds(verdict.difference_seconds)} of {format_seconds(verdict.base_seconds)}"
    notes = "".join(f"<br>{html_text(note)}" for note in verdict.notes)
    return (
        f'<div style="margin:.4em 0">{_badge(verdict.verdict)}<b>{change}</b>{time}'
        f'<div style="opacity:.75;font-size:.9em">{html_text(verdict.reason)}{notes}</div></div>'
    )


def comparison_html(comparison: EnvironmentComparison) -> str:
    """Return a table with one row per benchmark, the most important ones first."""
    counts = ", ".join(
        f"{comparison.count(word)} {word}"
        for word in ("slower", "undecided", "faster", "same", "identical")
        if comparison.count(word)
    )
    results = comparison.by_importance
    rows = "".join(_row(result) for result in results[:MOST_ROWS])
    more = len(results) - MOST_ROWS
    below = [f"{more} more"] if more > 0 else []
    below += [f"{html_text(failure.title)} failed: {html_text(failure.message)}" for failure in comparison.failures]
    below += [html_text(warning) for warning in comparison.warnings]
    heads = "".join(f'<th style="{_CELL}">{head}</th>' for head in ("", "benchmark"))
    heads += "".join(f'<th style="{_NUMBER}">{head}</th>' for head in ("change", "interval", "per run", "instructions"))
    return (
        f'<div style="overflow-x:auto"><b>{html_text(comparison.branch)} against {html_text(comparison.base)}</b>: '
        f"{counts or 'nothing was compared'}"
        f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        f'<div style="opacity:.75;font-size:.9em">{"<br>".join(below)}</div></div>'
    )


def _row(result: ComparisonResult) -> str:
    instructions = "" if result.instructions is None else _signed(result.instructions.ratio)
    figures = (_signed(result.ratio), html_text(span(result.interval)), _signed_seconds(result.difference_seconds))
    numbers = "".join(f'<td style="{_NUMBER}">{figure}</td>' for figure in (*figures, instructions))
    reason = html_text(result.judged.reason)
    return (
        f'<tr title="{reason}"><td style="{_CELL}">{_badge(result.verdict)}</td>'
        f'<td style="{_CELL}">{html_text(result.title)}</td>{numbers}</tr>'
    )


def _badge(word: str) -> str:
    return f'<span style="background:{_BACKGROUNDS[word]};padding:.1em .5em;border-radius:3px">{word}</span>'


def _signed(ratio: float) -> str:
    return ("+" if ratio > 1.0 else "") + percent(ratio - 1.0).replace("-", "−")


def _signed_seconds(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '−' if seconds < 0 else ''}{format_seconds(abs(seconds), 3)}"
