"""An examination of the machine as a picture (SVG) or a page (HTML) that loads nothing: states over time, findings."""

from __future__ import annotations

from photometer.doctor.finding import Examination, State
from photometer.doctor.noise_test import SAME_STATE, NoiseTest, Visit, Work
from photometer.model.units import percent
from photometer.report.doctor_text import conclusion
from photometer.report.escape import html_text
from photometer.report.page.figure import Axis, Scale, padded, tick_text

WIDTH = 860
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 34, 30
PANEL_HEIGHT = 150
# Slower than this is drawn at the upper edge: one long pause must not flatten the rest.
HIGHEST_SHOWN = 3.0
_COLOURS = ("#3d6d96", "#b8622b", "#3f7a4f", "#7b5aa0", "#8a6d12", "#b04a73", "#23797d", "#6a6f73")
_INK, _SOFT, _GRID = "#1d1f21", "#5f6468", "#e4e5e3"
_FONT = "font-family=\"system-ui, -apple-system, 'Segoe UI', Arial, sans-serif\""
_STATE_COLOURS = {State.GOOD: "#3f7a4f", State.NOTE: "#8f6a12", State.MEND: "#b5402c"}
_TITLES = {Work.COMPUTING: "Computing (a loop in the first cache)", Work.MEMORY: "Memory (a copy of 4 MiB)"}


def noise_svg(noise: NoiseTest) -> str:
    """Return one panel per kind of work: how much slower than at best each visit was; a colour per core."""
    height = TOP + len(Work) * (PANEL_HEIGHT + BOTTOM + 12)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'{_FONT} font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>'
    ]
    parts += [_legend(noise)]
    for number, work in enumerate(Work):
        parts += _panel(noise, work, TOP + number * (PANEL_HEIGHT + BOTTOM + 12))
    return "".join([*parts, "</svg>\n"])


def _legend(noise: NoiseTest) -> str:
    marks = []
    for number, core in enumerate(noise.cores):
        x = LEFT + 62 * number
        colour = _COLOURS[number % len(_COLOURS)]
        marks.append(f'<circle cx="{x}" cy="14" r="4" fill="{colour}"/>')
        marks.append(f'<text x="{x + 8}" y="18" fill="{_INK}">core {core}</text>')
    return "".join(marks)


def _panel(noise: NoiseTest, work: Work, top: float) -> list[str]:
    visits = noise.of(work)
    x_axis, y_axis = Axis("seconds", "number"), Axis("slower than at best", "ratio", "log")
    domain = padded([1.0, 1.1, *(min(visit.slowdown, HIGHEST_SHOWN) for visit in visits)], y_axis)
    x = Scale.of(x_axis, (0.0, max(noise.seconds, 0.1)), LEFT, WIDTH - RIGHT)
    y = Scale.of(y_axis, domain, top + PANEL_HEIGHT, top + 18)
    share = noise.best_share(work)
    title = f"{_TITLES[work]}: at its best speed for {percent(share)} of the time"
    parts = [f'<text x="{LEFT}" y="{top + 8}" fill="{_INK}" font-weight="600">{html_text(title)}</text>']
    best = y.inside(1 + SAME_STATE)
    parts.append(
        f'<rect x="{LEFT}" y="{best:.1f}" width="{WIDTH - LEFT - RIGHT}" height="{y.start - best:.1f}" fill="#eaf2ec"/>'
    )
    for value, step in y.ticks(5):
        parts.append(_line(LEFT, y(value), WIDTH - RIGHT, y(value)))
        label = tick_text(y_axis, value, step)
        parts.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end" fill="{_SOFT}">{label}</text>')
    for value, _ in x.ticks(10):
        label = f"{value:g} s"
        parts.append(
            f'<text x="{x(value):.1f}" y="{y.start + 16:.1f}" text-anchor="middle" fill="{_SOFT}">{label}</text>'
        )
    colours = {core: _COLOURS[number % len(_COLOURS)] for number, core in enumerate(noise.cores)}
    return [*parts, *(_mark(visit, x, y, colours[visit.core]) for visit in visits)]


def _mark(visit: Visit, x: Scale, y: Scale, colour: str) -> str:
    """Return a dot for the visit's undisturbed speed, with a tooltip; larger if blocks of it were interrupted."""
    radius = 2.2 + 4 * min(visit.interrupted, 1.0)
    words = f"core {visit.core}, {visit.at_seconds:.1f} s: {visit.slowdown:.2f}×"
    if visit.interrupted:
        words += f", {percent(visit.interrupted)} of the blocks interrupted"
    place = f'cx="{x(visit.at_seconds):.1f}" cy="{y.inside(visit.slowdown):.1f}"'
    return f'<circle {place} r="{radius:.1f}" fill="{colour}" fill-opacity="0.6"><title>{words}</title></circle>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_GRID}"/>'


def doctor_page(examination: Examination) -> str:
    """Return a whole page: the conclusion, the picture, the findings."""
    rows = "".join(
        f'<tr><td style="color:{_STATE_COLOURS[finding.state]};font-weight:600">{finding.state.value}</td>'
        f"<th>{html_text(finding.topic)}</th><td>{html_text(finding.fact)}"
        + (f"<br><small>{html_text(finding.advice)}</small>" if finding.advice else "")
        + "</td></tr>\n"
        for finding in examination.findings
    )
    picture = "" if examination.noise is None else f"<figure>{noise_svg(examination.noise)}</figure>"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>photometer doctor</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em;color:#1d1f21}"
        "th{text-align:left;font-weight:600;white-space:nowrap}td,th{padding:.35em .8em .35em 0;vertical-align:top;"
        "border-bottom:1px solid #e4e5e3}small{color:#5f6468}figure{margin:1em 0}svg{max-width:100%;height:auto}"
        "</style>"
        f"<h1>This machine</h1><p>{html_text(conclusion(examination))}</p>{picture}<table>{rows}</table></html>\n"
    )
