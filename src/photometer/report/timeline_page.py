"""Timelines of one run as a page that loads nothing: a picture of each side on one scale, and what took the time.

In: a title, and a Timeline per side. Out: the text of an HTML page. Names come from users and are escaped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from zlib import crc32

from photometer.instruments.timeline import Timeline, TimelineEvent
from photometer.model.units import format_seconds
from photometer.report.escape import html_text
from photometer.report.page.page import REPORT_FOLDER, content_policy, document_templates, script_of_theme
from photometer.report.tables.table import Column, Kind, Row, Table, row_of, table_of

WIDTH, LEFT, ROW, GAP, TOP = 1160, 150, 18, 10, 26
# Narrower is not visible; the trace has all.
NARROWEST = 0.3
# As in flame graphs.
LETTER = 7.25
DEEPEST = 12
MOST_ROWS = 40
COLOURS = 8
_FONT = 'font-family="system-ui, -apple-system, \'Segoe UI\', Arial, sans-serif" font-size="12"'


def render_timeline_page(title: str, sides: Sequence[tuple[str, Timeline]], trace: str) -> str:
    """Return the page. `trace` is the name of the file beside it that Perfetto opens."""
    style = (REPORT_FOLDER / "page.css").read_text(encoding="utf-8")
    script = script_of_theme()
    longest = max((timeline.length for _, timeline in sides), default=0)
    return (
        document_templates()
        .get_template("timeline.html.jinja")
        .render(
            title=title,
            sides=[(side, timeline_svg(timeline, longest), _words(timeline)) for side, timeline in sides],
            table=table_of_work(sides),
            trace=trace,
            script=script,
            style=style,
            policy=content_policy(script, style),
        )
    )


def table_of_work(sides: Sequence[tuple[str, Timeline]]) -> Table:
    """Return a row per kernel, or per operation of the host if there are none: calls and time on each side."""
    work = [{each.name: each for each in timeline.work()} for _, timeline in sides]
    names = dict.fromkeys(name for found in work for name in found)
    ordered = sorted(names, key=lambda name: -max(found[name].own for found in work if name in found))
    kernels = any(timeline.has_kernels for _, timeline in sides)
    columns = [Column("name", "kernel" if kernels else "operation", Kind.NAME)]
    for number, (side, _) in enumerate(sides):
        head = f"{side}: " if len(sides) > 1 else ""
        columns += [
            Column(f"calls_{number}", f"{head}calls", Kind.COUNT),
            Column(f"seconds_{number}", f"{head}time", Kind.TIME),
        ]
    rows: list[Row] = []
    for name in ordered[:MOST_ROWS]:
        cells: dict[str, str | float | None] = {"name": name}
        for number, found in enumerate(work):
            if name in found:
                cells |= {f"calls_{number}": found[name].calls, f"seconds_{number}": found[name].own / 1e9}
        rows.append(row_of(cells))
    more = len(ordered) - MOST_ROWS
    return table_of(columns, rows, notes=[f"{more} more are in the trace."] if more > 0 else [])


@dataclasses.dataclass(frozen=True)
class _Lane:
    name: str
    top: int
    events: tuple[TimelineEvent, ...]

    @property
    def height(self) -> int:
        return ROW * (1 + min(max((event.depth for event in self.events), default=0), DEEPEST))


def timeline_svg(timeline: Timeline, longest: int) -> str:
    """Return the picture of one side, on the scale of the longest."""
    lanes: list[_Lane] = []
    top = TOP
    for name in timeline.lanes:
        lane = _Lane(name, top, tuple(event for event in timeline.events if event.lane == name))
        lanes.append(lane)
        top += lane.height + GAP
    scale = (WIDTH - LEFT) / max(longest, 1)
    end = html_text(format_seconds(longest / 1e9))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}" {_FONT}>',
        f'<text x="{LEFT}" y="16" fill="var(--soft)">0</text>',
        f'<text x="{WIDTH}" y="16" text-anchor="end" fill="var(--soft)">{end}</text>',
    ]
    for lane in lanes:
        parts.append(f'<text x="0" y="{lane.top + 13}" fill="var(--ink)">{html_text(lane.name)}</text>')
        parts += [_event(event, lane.top, scale) for event in lane.events if event.depth <= DEEPEST]
    return "".join([*parts, "</svg>"])


def _event(event: TimelineEvent, top: int, scale: float) -> str:
    left, width = LEFT + event.start * scale, event.length * scale
    if width < NARROWEST:
        return ""
    upper = top + event.depth * ROW
    colour = f"var(--line-{crc32(event.name.encode()) % COLOURS})"
    letters = int((width - 4) / LETTER)
    name = event.name if len(event.name) <= letters else f"{event.name[: letters - 1]}…"
    label = (
        f'<text x="{left + 2:.1f}" y="{upper + 13}" fill="var(--ink)">{html_text(name)}</text>' if letters > 2 else ""
    )
    return (
        f"<g><title>{html_text(event.name)}: {html_text(format_seconds(event.length / 1e9))}</title>"
        f'<rect x="{left:.1f}" y="{upper}" width="{width:.1f}" height="{ROW - 2}" rx="2" fill="{colour}" '
        f'fill-opacity=".45"/>{label}</g>'
    )


def _words(timeline: Timeline) -> str:
    """Return how long everything took, and what is not shown."""
    kernels = sum(not event.on_host for event in timeline.events)
    words = f"{format_seconds(timeline.length / 1e9)} under the profiler"
    words += f", {kernels:,} kernels and copies" if kernels else ", on the host alone"
    return words + (f"; {timeline.missed:,} more events were not kept" if timeline.missed else "")
