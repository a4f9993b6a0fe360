"""A Measurement in a notebook: the median with its interval, a histogram of the blocks, and warnings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from photometer.model.measurement import Measurement
from photometer.model.units import format_seconds
from photometer.report.escape import html_lines
from photometer.report.notebook.look import warning
from photometer.stats.summary import quantile

WIDTH, HEIGHT = 240, 48
MOST_BARS = 40
FEWEST_SAMPLES_TO_DRAW = 5
# The histogram ends here and the last bar counts everything beyond it: one slow block must not flatten all other bars.
UPPER_FENCE = 3.0


def measurement_html(m: Measurement) -> str:
    """Return the title, the median with its interval, a histogram of the blocks, and warnings, in one `<div>`."""
    rows = [f"<div><b>{html_lines(m.title)}</b>{_description(m)}</div>"]
    if not m.raw_times:
        return f'<div style="line-height:1.5">{rows[0]}<div>no samples</div></div>'
    low, high = m.interval_seconds
    interval = f" (95 % interval {format_seconds(low)} to {format_seconds(high)})" if math.isfinite(high) else ""
    rows.append(f"<div>median <b>{format_seconds(m.median)}</b>{interval}</div>")
    if len(m.raw_times) >= FEWEST_SAMPLES_TO_DRAW:
        rows.append(histogram_svg(m.times, m.median))
    blocks = "1 block" if len(m.raw_times) == 1 else f"{len(m.raw_times)} blocks"
    runs = "1 run" if m.number_per_run == 1 else f"{m.number_per_run} runs"
    threads = "1 thread" if m.num_threads == 1 else f"{m.num_threads} threads"
    rows.append(f'<div style="opacity:.75">{blocks} of {runs}, {threads}</div>')
    rows += [warning(suspicion.message, suspicion.remedy) for suspicion in m.warnings]
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
