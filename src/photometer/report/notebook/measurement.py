"""Measurements in a notebook.

A Measurement shows its median with the interval, a histogram of the blocks, and warnings; InstructionCounts the three
figures, whether they are exact, and the costliest functions; a DeviceMeasurement its modes, bound, kernels and
warnings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.measurement import Measurement
from photometer.model.units import format_count, format_digits, format_seconds, shown_unit
from photometer.report.device_text import table_of_modes
from photometer.report.escape import html_lines, html_text
from photometer.report.notebook.look import warning
from photometer.report.tables.as_html import SOFT, html_table, render_html
from photometer.report.tables.names import shorten_apart
from photometer.report.tables.table import Column, Kind, row_of, table_of
from photometer.stats.summary import quantile

# Names of template kernels have hundreds of characters; the whole is shown when the mouse rests on it.
WIDEST_KERNEL_NAME = 90
MOST_KERNELS = 8


def device_html(m: DeviceMeasurement) -> str:
    """Return the modes with bars, and below them the other facts."""
    parts = [
        f"<div><b>{html_lines(m.task_spec.title)}</b> on {html_text(m.device_name)}</div>",
        html_table(table_of_modes(m.modes)),
        f"<div>{html_text(m.bound)}</div>",
        *_kernels(m),
        *(warning(found.message, found.remedy) for found in m.warnings),
    ]
    return f'<div style="line-height:1.5;overflow-x:auto">{"".join(parts)}</div>'


def _kernels(m: DeviceMeasurement) -> list[str]:
    if not m.kernels:
        return []
    lines = []
    shown = m.kernels[:MOST_KERNELS]
    names = shorten_apart([kernel.name for kernel in shown], WIDEST_KERNEL_NAME)
    for kernel, name in zip(shown, names, strict=True):
        each = format_seconds(kernel.seconds_per_run / (kernel.calls_per_run or 1.0), 4)
        lines.append(
            f'<span title="{html_text(kernel.name)}">{format_count(kernel.calls_per_run)} × {each} '
            f"<code>{html_text(name)}</code></span>"
        )
    more = len(m.kernels) - MOST_KERNELS
    lines += [f"{more} more"] if more > 0 else []
    return [f'<div style="{SOFT}">kernels per run:<br>{"<br>".join(lines)}</div>']


MOST_FUNCTIONS = 8
COLUMNS = (Column("figure", "per run", Kind.NAME), Column("count", "", Kind.COUNT))
FUNCTION_COLUMNS = (
    Column("function", "function", Kind.NAME, is_code=True, longest=90),
    Column("count", "per run", Kind.COUNT),
    Column("share", "share", Kind.SHARE),
)


def counts_html(counts: InstructionCounts) -> str:
    """Return the figures per run, and a folded table of functions."""
    net = "without the loop" if counts.loop_baseline is not None else "with the loop"
    repeats, runs = len(counts.repeats), counts.number_per_run
    exact = "all exactly equal" if counts.is_exact else "not all equal"
    figures = {
        f"instructions outside the allocator, {net}": counts.outside_allocator_per_run,
        "with the allocator's own": counts.instructions_per_run,
        "calls of the allocator": counts.allocator_calls_per_run,
    }
    notes = [
        f"{repeats} repeat{_s(repeats)} of {runs} run{_s(runs)}, {exact}",
        *counts.difference_reasons,
        *counts.reasons,
    ]
    rows = [row_of({"figure": name, "count": count}) for name, count in figures.items()]
    return (
        f'<div style="line-height:1.5"><b>{html_lines(counts.task_spec.title)}</b>'
        f"{render_html(table_of(COLUMNS, rows, notes=notes))}{_functions(counts)}</div>"
    )


def _functions(counts: InstructionCounts) -> str:
    if not counts.top_functions:
        return ""
    total = counts.stable.total or 1
    rows = [
        row_of({"function": function, "count": count / counts.number_per_run, "share": count / total}, tip=function)
        for count, function in counts.top_functions[:MOST_FUNCTIONS]
    ]
    inner = html_table(table_of(FUNCTION_COLUMNS, rows))
    return f'<details><summary style="{SOFT}">the costliest functions</summary>{inner}</details>'


def _s(count: int) -> str:
    return "" if count == 1 else "s"


WIDTH, HEIGHT = 240, 48
MOST_BARS = 40
FEWEST_SAMPLES_TO_DRAW = 5
# The last bar, if it counts more than its own width, is lighter and says so below.
_LIGHT = ' opacity=".5"'
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
    beyond = sum(1 for t in ordered if t > high)
    # The unit of the median above.
    unit, scale = shown_unit(median)
    bar_width = WIDTH / len(counts)
    bars = "".join(
        f'<rect x="{i * bar_width:.1f}" y="{HEIGHT * (1 - count / tallest):.1f}" width="{bar_width * 0.9:.1f}" '
        f'height="{HEIGHT * count / tallest:.1f}"{_LIGHT if beyond and i == len(counts) - 1 else ""}/>'
        for i, count in enumerate(counts)
        if count
    )
    position = WIDTH * (median - low) / (high - low) if high > low else bar_width / 2
    more = f" and above ({beyond:,} block{'' if beyond == 1 else 's'})" if beyond else ""
    return (
        f'<div><svg width="{WIDTH}" height="{HEIGHT + 2}" viewBox="0 0 {WIDTH} {HEIGHT + 2}" role="img" '
        f'aria-label="histogram of {len(ordered)} blocks" style="display:block;overflow:visible">'
        f'<g fill="currentColor" opacity=".55">{bars}</g>'
        f'<path d="M0 {HEIGHT + 1}H{WIDTH}" stroke="currentColor" opacity=".4"/>'
        f'<path d="M{position:.1f} 0V{HEIGHT}" stroke="#e5534b" stroke-width="2"/></svg>'
        f'<div style="display:flex;justify-content:space-between;width:{WIDTH}px;font-size:.8em;opacity:.75">'
        f"<span>{format_digits(low / scale)} {unit}</span>"
        f"<span>{format_digits(high / scale)} {unit}{more}</span></div></div>"
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
