"""An examination of the machine as a picture (SVG) or a page (HTML) that loads nothing: states over time, findings."""

from __future__ import annotations

import dataclasses

from photometer.doctor.finding import Examination, State
from photometer.doctor.noise_test import SAME_STATE, NoiseTest, Visit, Work
from photometer.model.units import percent
from photometer.report.doctor_text import conclusion
from photometer.report.escape import html_text
from photometer.report.page.figure import Axis, Scale, padded, tick_text
from photometer.report.page.page import REPORT_FOLDER, content_policy, document_templates, script_of_theme

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
