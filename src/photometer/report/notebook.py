"""HTML for notebooks: what a result shows at the end of a cell.

In: one of the records. Out: a fragment without script and without outside resources. Text from users is escaped.

A Measurement shows its median with the interval, a histogram of the blocks, and warnings; InstructionCounts the three
figures, whether they are exact, and the costliest functions; a DeviceMeasurement its modes, bound, kernels and
warnings; a MemoryMeasurement the allocations of one run; a verdict a picture of its interval; the comparison of two
environments and the ranking of statements a row each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.ranking import RankedStatement, Ranking
from photometer.analysis.verdict import Verdict
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.measurement import Measurement
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.units import (
    change,
    format_bytes,
    format_count,
    format_difference,
    format_digits,
    format_seconds,
    percent,
    shown_unit,
    span,
)
from photometer.report.device_text import table_of_modes
from photometer.report.escape import html_lines, html_text
from photometer.report.ranking_text import REFERENCE, headline
from photometer.report.tables.as_html import BACKGROUNDS, SOFT, html_table, render_html
from photometer.report.tables.table import Cell, Column, Kind, Mark, Row, Value, row_of, table_of
from photometer.report.text_width import shorten_apart
from photometer.report.verdict_text import count_parts, mark_of
from photometer.stats.summary import quantile


def badge(word: str, shown: str = "") -> str:
    """Return the word, or the given text, on the background of its verdict."""
    background = BACKGROUNDS.get(mark_of(word), BACKGROUNDS[Mark.FAINT])
    text = html_text(shown or word)
    return f'<span style="background:{background};padding:.1em .5em;border-radius:3px">{text}</span>'


def warning(message: str, remedy: str) -> str:
    """Return a reason to doubt, with a bar at its left."""
    return (
        f'<div style="border-left:3px solid #d29922;padding-left:.5em">{html_text(message)} '
        f'<span style="opacity:.75">{html_text(remedy)}</span></div>'
    )


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


HISTOGRAM_WIDTH, HISTOGRAM_HEIGHT = 240, 48
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
    width, height = HISTOGRAM_WIDTH, HISTOGRAM_HEIGHT
    bar_width = width / len(counts)
    bars = "".join(
        f'<rect x="{i * bar_width:.1f}" y="{height * (1 - count / tallest):.1f}" width="{bar_width * 0.9:.1f}" '
        f'height="{height * count / tallest:.1f}"{_LIGHT if beyond and i == len(counts) - 1 else ""}/>'
        for i, count in enumerate(counts)
        if count
    )
    position = width * (median - low) / (high - low) if high > low else bar_width / 2
    more = f" and above ({beyond:,} block{'' if beyond == 1 else 's'})" if beyond else ""
    return (
        f'<div><svg width="{width}" height="{height + 2}" viewBox="0 0 {width} {height + 2}" role="img" '
        f'aria-label="histogram of {len(ordered)} blocks" style="display:block;overflow:visible">'
        f'<g fill="currentColor" opacity=".55">{bars}</g>'
        f'<path d="M0 {height + 1}H{width}" stroke="currentColor" opacity=".4"/>'
        f'<path d="M{position:.1f} 0V{height}" stroke="#e5534b" stroke-width="2"/></svg>'
        f'<div style="display:flex;justify-content:space-between;width:{width}px;font-size:.8em;opacity:.75">'
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


MEMORY_COLUMNS = (
    Column("place", "one run", Kind.NAME),
    Column("peak_bytes", "peak", Kind.BYTES),
    Column("allocated_bytes", "allocates", Kind.BYTES),
    Column("allocations", "blocks", Kind.COUNT),
    Column("kept_bytes", "keeps", Kind.BYTES),
)


def memory_html(memory: MemoryMeasurement) -> str:
    """Return a row for the accelerator, if there is one, and one for the CPU."""
    rows = [] if memory.on_device is None else [_memory_row(memory.device, memory.on_device)]
    rows.append(_memory_row("CPU", memory.host))
    runs = len(memory.repeats)
    notes = [f"{runs} runs, {'all exactly equal' if memory.is_exact else 'not all equal'}"]
    if memory.device_reserved_bytes is not None:
        notes.append(f"{format_bytes(memory.device_reserved_bytes)} reserved on {memory.device} at most")
    if memory.process_peak_bytes is not None:
        notes.append(f"the process grew by up to {format_bytes(memory.process_peak_bytes)} (in whole pages)")
    table = table_of(MEMORY_COLUMNS, rows, notes=notes)
    return f'<div style="line-height:1.5"><b>{html_lines(memory.task_spec.title)}</b>{render_html(table)}</div>'


def _memory_row(place: str, figures: MemoryFigures) -> Row:
    return row_of(
        {
            "place": place,
            "peak_bytes": figures.peak_bytes,
            "allocated_bytes": figures.allocated_bytes,
            "allocations": figures.allocations,
            "kept_bytes": figures.kept_bytes,
        }
    )


# A notebook cell is no place for hundreds of rows; benchmarks without a change are left out first.
MOST_ROWS = 40
INTERVAL_WIDTH, INTERVAL_HEIGHT = 320, 26
# The picture reaches to the farther end of the interval, or this many margins if that is more.
FEWEST_MARGINS = 2.0
# An interval that is not known yet, or is wider than this, is drawn to the edges.
WIDEST_SHOWN = 1.0
COMPARISON_COLUMNS = (
    Column("verdict", "", Kind.WORDS),
    Column("benchmark", "benchmark", Kind.NAME),
    Column("ratio", "change", Kind.CHANGE),
    Column("interval", "interval", Kind.CHANGE),
    Column("difference_seconds", "per run", Kind.DIFFERENCE),
    Column("instruction_ratio", "instructions", Kind.CHANGE),
)
RANKING_COLUMNS = (
    Column("rank", "rank", Kind.COUNT),
    Column("statement", "statement", Kind.NAME, is_code=True),
    Column("verdict", "verdict", Kind.WORDS),
    Column("drawn", "", Kind.BAR),
    Column("seconds", "per run", Kind.TIME, digits=4),
    Column("ratio", "change", Kind.CHANGE),
    Column("interval", "interval", Kind.CHANGE),
    Column("difference_seconds", "difference", Kind.DIFFERENCE),
)
_INTERVAL_COLOURS = {
    "slower": "#d1493d",
    "probably slower": "#d1493d",
    "undecided": "#c08a1e",
    "probably faster": "#388bd5",
    "faster": "#388bd5",
}


def verdict_html(verdict: Verdict) -> str:
    """Return the verdict, the change with its interval as text and picture, and the reason."""
    changed, time, drawn = "", "", ""
    if verdict.has_change and math.isfinite(verdict.ratio):
        changed = f" {change(verdict.ratio)} ({html_text(span(verdict.interval))})"
        time = f", {format_difference(verdict.difference_seconds)} of {format_seconds(verdict.base_seconds)}"
        drawn = interval_svg(verdict)
    below = (verdict.reason, verdict.measured_by, *verdict.notes)
    lines = "<br>".join(html_text(line) for line in below if line)
    return (
        f'<div style="margin:.4em 0">{badge(verdict.verdict, verdict.words)}<b>{changed}</b>{time}'
        f'{drawn}<div style="{SOFT}">{lines}</div></div>'
    )


def result_html(result: ComparisonResult) -> str:
    """Return one benchmark of a comparison: its title above its verdict, and the cause."""
    cause = f'<div style="{SOFT}">{html_text(result.cause)}</div>' if result.cause else ""
    return f"<div><b>{html_text(result.title)}</b>{verdict_html(result.judged)}{cause}</div>"


def interval_svg(verdict: Verdict) -> str:
    """Return the interval of the change over a band that is the margin, with a line at "no change"."""
    ends = [end - 1.0 for end in verdict.interval]
    known = [abs(end) for end in ends if math.isfinite(end) and abs(end) < WIDEST_SHOWN]
    width, height = INTERVAL_WIDTH, INTERVAL_HEIGHT
    reach = 1.15 * max([FEWEST_MARGINS * verdict.margin, abs(verdict.ratio - 1.0), *known, 1e-4])

    def place(change: float) -> float:
        return min(max(width * (change / reach + 1) / 2, 1.0), width - 1.0)

    low, high, at = place(ends[0]), place(ends[1]), place(verdict.ratio - 1.0)
    band = place(-verdict.margin), place(verdict.margin)
    colour = _INTERVAL_COLOURS.get(verdict.verdict, "#7d8590")
    words = f"change {change(verdict.ratio)}, interval {span(verdict.interval)}, margin {percent(verdict.margin)}"
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{html_text(words)}" style="display:block;margin:.3em 0">'
        f'<rect x="{band[0]:.1f}" y="3" width="{band[1] - band[0]:.1f}" height="20" fill="currentColor" opacity=".1"/>'
        f'<path d="M{width / 2:.1f} 0V{height}" stroke="currentColor" opacity=".5"/>'
        f'<path d="M{low:.1f} 13H{high:.1f}" stroke="{colour}" stroke-width="3"/>'
        f'<circle cx="{at:.1f}" cy="13" r="5" fill="{colour}"/></svg>'
    )


def comparison_html(comparison: EnvironmentComparison) -> str:
    """Return a table with one row per benchmark, the most important ones first."""
    counts = ", ".join(count_parts(comparison))
    titled = comparison.titled_by_side()
    results = titled.by_importance
    more = len(results) - MOST_ROWS
    notes = [f"{more} more"] if more > 0 else []
    notes += [f"{failure.title} failed: {failure.message}" for failure in titled.failures]
    notes += comparison.warnings
    table = table_of(COMPARISON_COLUMNS, [_row(result) for result in results[:MOST_ROWS]], notes=notes)
    others = ", ".join(map(html_text, comparison.names[1:]))
    head = f"<b>{others} against {html_text(comparison.base)}</b>: {counts or 'nothing was compared'}"
    return f"<div>{head}{render_html(table)}</div>"


def _row(result: ComparisonResult) -> Row:
    cells: dict[str, Cell | Value] = {
        "verdict": _verdict_cell(result.verdict, result.judged.words),
        "benchmark": result.title,
        "instruction_ratio": None if result.instructions is None else result.instructions.ratio,
    }
    if result.judged.has_change:
        cells |= {
            "ratio": result.ratio,
            "interval": result.interval,
            "difference_seconds": result.difference_seconds,
        }
    return row_of(cells, tip=result.judged.reason)


def ranking_html(ranking: Ranking) -> str:
    """Return the outcome, a row per statement, and the notes."""
    notes = [note for note in (ranking.measured_by, *ranking.notes) if note]
    table = table_of(RANKING_COLUMNS, [_ranked(statement) for statement in ranking], notes=notes)
    return f"<div><b>{html_text(headline(ranking))}</b>{render_html(table)}</div>"


def _ranked(statement: RankedStatement) -> Row:
    verdict = statement.verdict
    cells: dict[str, Cell | Value] = {
        "rank": statement.rank,
        "statement": statement.name,
        "verdict": _verdict_cell(REFERENCE) if verdict is None else _verdict_cell(verdict.verdict, verdict.words),
        "drawn": float(statement.seconds),
        "seconds": statement.seconds,
    }
    if verdict is not None:
        cells |= {
            "ratio": verdict.ratio,
            "interval": verdict.interval,
            "difference_seconds": verdict.difference_seconds,
        }
    return row_of(cells, tip="" if verdict is None else verdict.reason)


def _verdict_cell(word: str, shown: str = "") -> Cell:
    mark = mark_of(word)
    return Cell(shown or word, mark=Mark.FAINT if mark is Mark.NONE else mark)
