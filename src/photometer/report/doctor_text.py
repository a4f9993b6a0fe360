"""An examination of the machine as text: findings with advice, and the states of the machine over time as strips.

In: an Examination and a width. Out: one string.
"""

from __future__ import annotations

from collections.abc import Sequence

from photometer.doctor.finding import Examination, Finding, State
from photometer.doctor.noise_test import SAME_STATE, NoiseTest, Work
from photometer.doctor.tune import Change
from photometer.model.units import percent
from photometer.model.visible_text import visible_line
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
