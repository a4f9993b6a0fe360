"""An examination of the machine for people: as text, as a picture (SVG), and as a page (HTML) that loads nothing.

In: an Examination. Out: one string: findings with advice, and the states of the machine over time, as strips of
characters or drawn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from photometer.doctor.finding import Examination, Finding, State
from photometer.doctor.noise_test import SAME_STATE, NoiseTest, Visit, Work
from photometer.doctor.tune import Change
from photometer.model.units import percent
from photometer.model.visible_text import visible_line
from photometer.report.escape import html_text
from photometer.report.page.figure import Axis, Scale, padded, tick_text
from photometer.report.page.page import REPORT_FOLDER, content_policy, document_templates, script_of_theme
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Mark, Table, row_of, table_of

MARKS = {State.GOOD: "good", State.NOTE: "note", State.FIX: "FIX"}
# One glyph per share of time lost; the first is the best state of the noise test.
LEVELS = ((1 + SAME_STATE, "▁"), (1.06, "▂"), (1.10, "▃"), (1.20, "▄"), (1.35, "▅"), (1.6, "▆"), (2.0, "▇"))
WORST_GLYPH = "█"
NARROWEST_STRIP = 20
COLUMNS = (
    Column("state", "", Kind.WORDS, priority=STAYS),
    Column("topic", "", Kind.NAME),
    Column("fact", "", Kind.WORDS, priority=STAYS),
)


def render_examination(examination: Examination, width: int) -> str:
    lines = render_text(table_of_findings(examination.findings), width).splitlines()
    if examination.noise is not None:
        lines += ["", *strip_lines(examination.noise, width)]
    return "\n".join([*lines, "", conclusion(examination)]) + "\n"


def conclusion(examination: Examination) -> str:
    problems = examination.problems()
    if not problems:
        return "No problems found."
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return f"{count}: {', '.join(visible_line(finding.topic) for finding in problems)}."


def table_of_findings(findings: Sequence[Finding]) -> Table:
    """Return a row per finding, its advice below."""
    rows = [
        row_of(
            {
                "state": Cell(MARKS[each.state], mark=Mark.BAD if each.state is State.FIX else Mark.NONE),
                "topic": each.topic,
                "fact": each.fact,
            },
            notes=(each.advice,) if each.advice else (),
        )
        for each in findings
    ]
    return table_of(COLUMNS, rows)


def strip_lines(noise: NoiseTest, width: int) -> list[str]:
    """Return one strip per core and kind of work: how much slower than at best, from the start to the end."""
    names = {(core, work): f"core {core} {work.value}" for core in noise.cores for work in Work}
    room = max(map(len, names.values()), default=0) + 2
    columns = max(min(width - room, 100), NARROWEST_STRIP)
    lines = []
    for (core, work), name in names.items():
        lines.append(name.ljust(room) + "".join(_glyphs(noise, core, work, columns)).rstrip())
    scale = "0 s".ljust(columns - len(f"{noise.seconds:.0f} s")) + f"{noise.seconds:.0f} s"
    legend = f"{LEVELS[0][1]} at best speed   " + "  ".join(
        f"{glyph} up to {percent(limit - 1)} slower" for limit, glyph in (LEVELS[2], LEVELS[4])
    )
    return [*lines, " " * room + scale, f"{legend}  {WORST_GLYPH} more than {percent(LEVELS[-1][0] - 1)}"]


def _glyphs(noise: NoiseTest, core: int, work: Work, columns: int) -> list[str]:
    """Return one glyph per column, of the slowest visit in it; a column without a visit repeats the last."""
    worst: dict[int, float] = {}
    for visit in noise.of(work, core):
        place = min(int(visit.at_seconds / max(noise.seconds, 1e-9) * columns), columns - 1)
        worst[place] = max(visit.slowdown, worst.get(place, 0.0))
    glyphs, last = [], " "
    for place in range(columns):
        last = glyph_of(worst[place]) if place in worst else last
        glyphs.append(last)
    return glyphs


def glyph_of(slowdown: float) -> str:
    return next((glyph for limit, glyph in LEVELS if slowdown <= limit), WORST_GLYPH)


def render_changes(changes: list[Change]) -> str:
    """Return what `--tune` changed, each with how to undo it."""
    if not changes:
        return "Nothing to tune: governors and persistence modes are as they should be, or cannot be seen here.\n"
    lines = []
    for change in changes:
        lines.append(visible_line(f"not changed: {change.what}: {change.refused}" if change.refused else change.what))
        lines += [f"  undo: {visible_line(change.undo)}"] if change.undo else []
    return "\n".join(lines) + "\n"


WIDTH = 860
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 34, 30
PANEL_HEIGHT = 150
# Slower than this is drawn at the upper edge: one long pause must not flatten the rest.
HIGHEST_SHOWN = 3.0
_FONT = "font-family=\"system-ui, -apple-system, 'Segoe UI', Arial, sans-serif\""
_ORDER = (State.FIX, State.NOTE, State.GOOD)
_TITLES = {Work.COMPUTING: "Computing (a loop in the first cache)", Work.MEMORY: "Memory (a copy of 4 MiB)"}


@dataclasses.dataclass(frozen=True)
class Colours:
    """The colours of the picture: on a page they follow light and dark, a file has fixed ones."""

    paper: str
    ink: str
    soft: str
    grid: str
    best: str
    cores: tuple[str, ...]


OF_FILE = Colours(
    "#ffffff",
    "#1d1f21",
    "#5f6468",
    "#e4e5e3",
    "#eaf2ec",
    ("#3d6d96", "#b8622b", "#3f7a4f", "#7b5aa0", "#8a6d12", "#b04a73", "#23797d", "#6a6f73"),
)
OF_PAGE = Colours(
    "none",
    "var(--ink)",
    "var(--soft)",
    "var(--grid)",
    "var(--same-soft)",
    tuple(f"var(--line-{number})" for number in range(8)),
)


def noise_svg(noise: NoiseTest, colours: Colours = OF_FILE) -> str:
    """Return one panel per kind of work: how much slower than at best each visit was; a colour per core."""
    height = TOP + len(Work) * (PANEL_HEIGHT + BOTTOM + 12)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'{_FONT} font-size="12"><rect width="100%" height="100%" fill="{colours.paper}"/>'
    ]
    parts += [_legend(noise, colours)]
    for number, work in enumerate(Work):
        parts += _panel(noise, work, colours, TOP + number * (PANEL_HEIGHT + BOTTOM + 12))
    return "".join([*parts, "</svg>\n"])


def _legend(noise: NoiseTest, colours: Colours) -> str:
    marks = []
    for number, core in enumerate(noise.cores):
        x = LEFT + 62 * number
        colour = colours.cores[number % len(colours.cores)]
        marks.append(f'<circle cx="{x}" cy="14" r="4" fill="{colour}"/>')
        marks.append(f'<text x="{x + 8}" y="18" fill="{colours.ink}">core {core}</text>')
    return "".join(marks)


def _panel(noise: NoiseTest, work: Work, colours: Colours, top: float) -> list[str]:
    visits = noise.of(work)
    x_axis, y_axis = Axis("seconds", "number"), Axis("slower than at best", "ratio", "log")
    domain = padded([1.0, 1.1, *(min(visit.slowdown, HIGHEST_SHOWN) for visit in visits)], y_axis)
    x = Scale.of(x_axis, (0.0, max(noise.seconds, 0.1)), LEFT, WIDTH - RIGHT)
    y = Scale.of(y_axis, domain, top + PANEL_HEIGHT, top + 18)
    share = noise.best_share(work)
    title = f"{_TITLES[work]}: at its best speed for {percent(share)} of the time"
    parts = [f'<text x="{LEFT}" y="{top + 8}" fill="{colours.ink}" font-weight="600">{html_text(title)}</text>']
    best = y.inside(1 + SAME_STATE)
    parts.append(
        f'<rect x="{LEFT}" y="{best:.1f}" width="{WIDTH - LEFT - RIGHT}" height="{y.start - best:.1f}" '
        f'fill="{colours.best}"/>'
    )
    for value, step in y.ticks(5):
        parts.append(_line(LEFT, y(value), WIDTH - RIGHT, y(value), colours.grid))
        label = tick_text(y_axis, value, step)
        parts.append(
            f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end" fill="{colours.soft}">{label}</text>'
        )
    for value, _ in x.ticks(10):
        label = f"{value:g} s"
        parts.append(
            f'<text x="{x(value):.1f}" y="{y.start + 16:.1f}" text-anchor="middle" fill="{colours.soft}">{label}</text>'
        )
    of_core = {core: colours.cores[number % len(colours.cores)] for number, core in enumerate(noise.cores)}
    return [*parts, *(_mark(visit, x, y, of_core[visit.core]) for visit in visits)]


def _mark(visit: Visit, x: Scale, y: Scale, colour: str) -> str:
    """Return a dot for the visit's undisturbed speed, with a tooltip; larger if blocks of it were interrupted."""
    radius = 2.2 + 4 * min(visit.interrupted, 1.0)
    words = f"core {visit.core}, {visit.at_seconds:.1f} s: {visit.slowdown:.2f}×"
    if visit.interrupted:
        words += f", {percent(visit.interrupted)} of the blocks interrupted"
    place = f'cx="{x(visit.at_seconds):.1f}" cy="{y.inside(visit.slowdown):.1f}"'
    return f'<circle {place} r="{radius:.1f}" fill="{colour}" fill-opacity="0.6"><title>{words}</title></circle>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def doctor_page(examination: Examination) -> str:
    """Return a whole page: the conclusion, the problems, the picture, and the other findings."""
    script = script_of_theme()
    style = "".join((REPORT_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "doctor.css"))
    findings = sorted(examination.findings, key=lambda finding: _ORDER.index(finding.state))
    return (
        document_templates()
        .get_template("doctor.html.jinja")
        .render(
            title="Is this machine fit to measure on?",
            conclusion=conclusion(examination),
            problems=[finding for finding in findings if finding.state is State.FIX],
            others=[finding for finding in findings if finding.state is not State.FIX],
            picture="" if examination.noise is None else noise_svg(examination.noise, OF_PAGE),
            script=script,
            style=style,
            policy=content_policy(script, style),
        )
    )
