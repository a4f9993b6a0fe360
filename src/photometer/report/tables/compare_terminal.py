"""The tables of `Compare` as plain text for terminals and logs, laid out as users of torch.utils.benchmark know it.

In: a finished Table and a width. Out: one string. Names wrap, and columns that do not fit side by side continue
below. The number and note of each cell, and the legend, are made here for all formats. Written by hand because a
rich.Table of ten thousand rows takes many seconds.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

from photometer.analysis.table import Cell, Reference, Standing, Table
from photometer.model.diagnosis import Suspicion, SuspicionKind
from photometer.model.units import trim_sigfig, unit_to_english
from photometer.model.visible_text import visible
from photometer.report.text_width import centre, pad, width_of, wrap

# As torch prints them, if significant figures are not asked for.
PLAIN_DECIMALS = 1
# Counts are of a hundred runs or so; these digits tell a cost that comes once in a while.
COUNT_DECIMALS = 2


@dataclasses.dataclass(frozen=True)
class CellText:
    number: str
    note: str

    def __str__(self) -> str:
        return f"{self.number} {self.note}" if self.note else self.number


def cell_text(cell: Cell, table: Table) -> CellText:
    """Return the text of one cell."""
    return CellText(number_text(cell, table), " ".join(filter(None, [ratio_note(cell, table), warning_note(cell)])))


def number_text(cell: Cell, table: Table) -> str:
    value = cell.value / table.unit_size
    if table.has_counts:
        return f"{value:,.{COUNT_DECIMALS}f}"
    if cell.significant_figures is None or value <= 0:
        return f"{value:.{PLAIN_DECIMALS}f}"
    trimmed = trim_sigfig(value, cell.significant_figures)
    leading_digits = math.floor(math.log10(trimmed)) + 1
    return f"{trimmed:.{max(cell.significant_figures - leading_digits, 0)}f}"


def ratio_text(ratio: float, style: str) -> str:
    if style == "%":
        percent = (ratio - 1) * 100
        return f"{percent:+.1f}%" if abs(percent) < 100 else f"{percent:+.0f}%"
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.1f}×" if ratio < 100 else f"{ratio:.0f}×"


def ratio_note(cell: Cell, table: Table) -> str:
    request = table.request
    if request.reference is None:
        return ""
    if cell.is_reference:
        return "(best)" if request.reference.is_fastest else "(base)"
    ratio = "" if cell.ratio is None or request.ratio_style is None else ratio_text(cell.ratio, request.ratio_style)
    note = ("≈" if cell.overlaps_reference else "") + ratio
    return f"({note})" if note else ""


def warning_note(cell: Cell) -> str:
    """Return "(! 12%)" for a wide spread, as torch prints it, and the kind of any other suspicion in words."""
    if not cell.warnings:
        return ""
    kinds = {suspicion.kind for suspicion in cell.warnings}
    if SuspicionKind.WIDE_SPREAD in kinds and cell.spread is not None:
        return f"(! {cell.spread * 100:.0f}%)"
    return f"(! {cell.warnings[0].kind.value})"


def legend_lines(table: Table) -> list[str]:
    """Return the lines below a table: its unit, and what each kind of note in it means."""
    if table.has_counts:
        lines = ["Instructions per run, less those of the empty loop."]
    else:
        lines = [f"Times are in {unit_to_english(table.unit)}s ({table.unit})."]
    reference, style = table.request.reference, table.request.ratio_style
    if reference is not None:
        if style is not None:
            example = "(1.25×)" if style == "×" else "(+25.0%)"
            lines.append(f"{example} is 1.25 times {reference_words(reference)}.")
        if any(cell.overlaps_reference for cell in table.cells()):
            overlapping = "The repeats" if table.has_counts else "The 95 % intervals"
            lines.append(f"(≈) {overlapping} overlap, which does not show that the two are equal; `ab` compares them.")
    return lines + _warning_lines(table)


def reference_words(reference: Reference) -> str:
    if reference.is_fastest:
        return "the fastest (best) of the same description and number of threads"
    if reference.row is None:
        return f"the same row of env {reference.env!r} (base)"
    where = "the same env" if reference.env is None else f"env {reference.env!r}"
    return f"the row {reference.row!r} of {where} (base)"


def _warning_lines(table: Table) -> list[str]:
    found: dict[SuspicionKind, Suspicion] = {}
    noted = set()
    for cell in table.cells():
        if cell.warnings:
            noted.add(warning_note(cell))
            found.update((suspicion.kind, suspicion) for suspicion in cell.warnings)
    lines = []
    for kind, suspicion in found.items():
        if kind is SuspicionKind.WIDE_SPREAD:
            lines.append(f"(! XX%) Wide spread: XX is the interquartile range in % of the median. {suspicion.remedy}")
        elif f"(! {kind.value})" in noted:
            lines.append(f"(! {kind.value}) {suspicion.remedy}")
        else:
            lines.append(f"Some of these are also suspected of: {kind.value}. {suspicion.remedy}")
    return lines


SEPARATOR = "  |  "
# Wider names wrap even if there is room: the eye must find its way from the name to the number.
WIDEST_NAME = 72
WIDEST_HEAD = 24
WIDEST_ENV = 24
# A name gets at least this much, however narrow the terminal.
NARROWEST_NAME = 12
_COLOURS = {
    Standing.BEST: "\033[1;32m",
    Standing.GOOD: "\033[34m",
    Standing.MIDDLING: "",
    Standing.BAD: "\033[33m",
    Standing.VERY_BAD: "\033[1;31m",
}
_PLAIN = "\033[0m"


@dataclasses.dataclass(frozen=True)
class _Column:
    head: list[str]
    width: int
    # One per row of the table; None if there is no measurement.
    texts: list[str | None]


def render_terminal(table: Table, width: int | None = None, colour: bool = True) -> str:
    """Return the table and its legend, in lines of at most `width` columns (None: no limit).

    With `colour`, cells are coloured by their standing, if the table has standings.
    """
    limit = max(width, NARROWEST_NAME) if width is not None else None
    env_width = _env_width(table, limit)
    names = _wrapped_names(table, env_width, limit)
    names_width = 2 + env_width + max((width_of(line) for lines in names for line in lines), default=0)
    columns = [_column(table, i, head) for i, head in enumerate(table.columns)]
    panels = list(_panels(columns, names_width, limit))
    parts = []
    for panel in panels:
        total = max(names_width + sum(len(SEPARATOR) + columns[i].width for i in panel), 4)
        parts.append("\n".join(_panel_lines(table, columns, panel, names, names_width, env_width, total, colour)))
    legend = "\n".join(line for text in legend_lines(table) for line in wrap(visible(text), limit or 100))
    return "\n\n".join(parts) + "\n\n" + legend + "\n"


def _env_width(table: Table, limit: int | None) -> int:
    """Return the room for envs before the names: 0 if there is only one env, or if a long one needs its own line."""
    if not table.has_envs:
        return 0
    widest = max(width_of(_env_text(group.env)) for block in table.blocks for group in block.groups)
    room = WIDEST_ENV if limit is None else min(WIDEST_ENV, limit // 4)
    return widest + 2 if widest <= room else 0


def _env_text(env: str | None) -> str:
    return "" if env is None else f"({visible(env)})".replace("\n", " ")


def _wrapped_names(table: Table, env_width: int, limit: int | None) -> list[list[str]]:
    most = WIDEST_NAME if limit is None else min(WIDEST_NAME, max(limit // 2 - env_width - 2, NARROWEST_NAME))
    return [wrap(visible(row.name), most) for _, _, row in table.rows()]


def _column(table: Table, index: int, head: str | None) -> _Column:
    found = [row.cells[index] for _, _, row in table.rows()]
    texts = [None if cell is None else cell_text(cell, table) for cell in found]
    # The number of digits varies from cell to cell, so numbers are aligned at their decimal points.
    whole = max((len(text.number.partition(".")[0]) for text in texts if text), default=0)
    fraction = max((len(text.number) - len(text.number.partition(".")[0]) for text in texts if text), default=0)
    note = max((width_of(text.note) for text in texts if text), default=0)
    lines = wrap(visible(head or ""), WIDEST_HEAD)
    width = max([whole + fraction + (1 + note if note else 0), *(width_of(line) for line in lines)])
    laid = [None if text is None else centre(_aligned(text, whole, fraction, note), width) for text in texts]
    return _Column(lines, width, laid)


def _aligned(text: CellText, whole: int, fraction: int, note: int) -> str:
    before, dot, after = text.number.partition(".")
    number = before.rjust(whole) + (dot + after).ljust(fraction)
    return f"{number} {pad(text.note, note)}" if note else number


def _panels(columns: Sequence[_Column], names_width: int, limit: int | None) -> Iterator[list[int]]:
    """Yield groups of columns that fit beside the names; at least one column per group, however narrow the terminal."""
    panel: list[int] = []
    used = names_width
    for i, column in enumerate(columns):
        needed = len(SEPARATOR) + column.width
        if panel and limit is not None and used + needed > limit:
            yield panel
            panel, used = [], names_width
        panel.append(i)
        used += needed
    yield panel


def _panel_lines(
    table: Table,
    columns: Sequence[_Column],
    panel: Sequence[int],
    names: Sequence[Sequence[str]],
    names_width: int,
    env_width: int,
    total: int,
    colour: bool,
) -> Iterator[str]:
    title = " ".join(visible(table.label or "").split("\n"))
    yield from _title_lines(title, total)
    depth = max(len(columns[i].head) for i in panel)
    for line in range(depth):
        heads = (columns[i].head[line] if line < len(columns[i].head) else "" for i in panel)
        cells = [centre(head, columns[i].width) for i, head in zip(panel, heads, strict=True)]
        yield SEPARATOR.join([" " * names_width, *cells]).rstrip()
    env_lines = table.has_envs and not env_width
    number = -1
    for block in table.blocks:
        yield f"{block.num_threads} threads: ".ljust(total, "-")
        for group in block.groups:
            env = _env_text(group.env) if env_width else ""
            if env_lines:
                yield from wrap(_env_text(group.env), total)
            for row in group.rows:
                number += 1
                # A row that is empty in these columns is shown only in the panel that has its numbers.
                if len(panel) < len(columns) and all(row.cells[i] is None for i in panel):
                    continue
                name = "  " + pad(env, env_width) + names[number][0]
                cells = [_coloured(columns[i].texts[number], columns[i].width, row.cells[i], colour) for i in panel]
                yield SEPARATOR.join([pad(name, names_width), *cells]).rstrip()
                for more in names[number][1:]:
                    blank = [" " * columns[i].width for i in panel]
                    yield SEPARATOR.join([pad(" " * (2 + env_width) + more, names_width), *blank]).rstrip()
                env = ""


def _title_lines(title: str, total: int) -> Iterator[str]:
    for line in wrap(title, max(total - 4, 1)):
        words = f" {line} " if line else ""
        left = (total - 2 - width_of(words)) // 2
        yield "[" + "-" * left + words + "-" * (total - 2 - width_of(words) - left) + "]"


def _coloured(text: str | None, width: int, cell: Cell | None, colour: bool) -> str:
    if text is None or cell is None:
        return " " * width
    code = _COLOURS[cell.standing] if colour and cell.standing is not None else ""
    return f"{code}{text}{_PLAIN}" if code else text
