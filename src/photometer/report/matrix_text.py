"""A comparison of many sides as text for the terminal, and as Markdown: versions across, benchmarks down.

In: an EnvironmentComparison. Out: one string: the outcome first, then the sides with their counts, then a row per
benchmark with its verdict on each side against the reference, and the steps at which it changed; then the causes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from photometer.analysis.comparison_result import NOT_REACHED, ComparisonResult, ComparisonRow, EnvironmentComparison
from photometer.model.units import change, format_seconds, percent
from photometer.model.visible_text import visible
from photometer.report.skipped_text import SKIPPED
from photometer.report.tables.as_markdown import folded, inline, pipe_table
from photometer.report.tables.as_text import note_lines, render_text
from photometer.report.tables.table import Cell, Column, Kind, Mark, Row, Table, Value, row_of, table_of
from photometer.report.text_width import shorten_apart
from photometer.report.verdict_text import count_parts, detail_lines, fine_answer, mark_of, memory_parts, skips_text

_MARKS = {"slower": "🔴", "failed": "🔴", "undecided": "🟡", "fine": "🟢", "nothing": "⚪"}
# A name is cut before its first difference only after one of these: `pip:torch==2.1` must not become `1`.
_JOINTS = "=:/@ "
LONGEST_NAME = 28


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without their common beginning, and without remarks in parentheses, if they stay distinct."""
    plain = [name.partition(" (")[0] for name in names]
    names = plain if len(set(plain)) == len(set(names)) else names
    first = min(names, default="")
    last = max(names, default="")
    common = 0
    while common < min(len(first), len(last)) and first[common] == last[common]:
        common += 1
    while common and first[common - 1] not in _JOINTS:
        common -= 1
    short = [name[common:] or name for name in names]
    return shorten_apart(short, LONGEST_NAME)


def headline(matrix: EnvironmentComparison) -> str:
    """Return the outcome in one line."""
    short = short_names(matrix.names)
    slower = []
    for side in range(1, len(matrix.names)):
        count = sum(each.side == side and each.verdict == "slower" and not each.accepted for each in matrix.results)
        slower += [f"{short[side]} in {count}"] if count else []
    if slower:
        return f"Slower than {short[0]}: {', '.join(slower)} of {len(matrix.rows)} benchmarks."
    return {
        "failed": "Something failed; nothing that ran is slower.",
        "undecided": "Undecided: nothing is shown to be slower, but some benchmarks could not be decided.",
        "fine": f"Nothing is slower than {short[0]} except what is accepted."
        if matrix.count("slower")
        else fine_answer(matrix, f" than {short[0]}"),
        "nothing": "Nothing ran.",
    }.get(matrix.outcome, "Nothing is slower.")


def side_counts(matrix: EnvironmentComparison, side: int) -> str:
    """Return the verdicts of one side in words: 2 slower, 30 same."""
    parts = count_parts(matrix.of_side(side))
    words = Counter(cell_text(row, side) for row in matrix.rows if side not in row.cells)
    skipped = words.pop(SKIPPED, 0)
    parts += [f"{words.total()} without a verdict"] if words else []
    parts += [f"{skipped} skipped"] if skipped else []
    return ", ".join([*parts, *memory_parts(matrix.of_side(side))]) or "nothing ran"


def cell_text(row: ComparisonRow, side: int) -> str:
    cell = row.cells.get(side)
    if cell is None:
        return _word_without_verdict(row, (side, 0))
    if cell.verdict in ("same", "identical"):
        return cell.judged.words
    if not cell.judged.replicates and cell.instructions is not None:
        # Counted and not timed.
        return f"{change(cell.instructions.ratio)} instructions"
    return f"{change(cell.judged.ratio)} {cell.verdict}"


def _word_without_verdict(row: ComparisonRow, places: Sequence[int]) -> str:
    if any(place in row.failures for place in places):
        return "failed"
    return SKIPPED if any(place in row.skips for place in places) else "–"


def steps_text(row: ComparisonRow, names: Sequence[str]) -> str:
    """Return where it changed: `2.12.1 (+3.1 %), 2.13.0 (-2.0 %)`; each against the side before."""
    return ", ".join(f"{names[cell.side]} ({change(cell.latest.ratio)})" for cell in row.changes)


def reference_text(row: ComparisonRow) -> str:
    if not row.reference_seconds:
        return _word_without_verdict(row, (0,))
    return format_seconds(row.reference_seconds, 3)


def render_matrix(matrix: EnvironmentComparison, width: int = 100, colour: bool = False) -> str:
    """Return the text for a terminal of this width."""
    lines = [visible(headline(matrix)), ""]
    lines.append(f"  reference  {visible(matrix.names[0])}")
    for side, name in enumerate(matrix.names[1:], start=1):
        lines.append(f"  side {side:<5} {visible(name)}: {side_counts(matrix, side)}")
    for warning in matrix.warnings:
        lines += note_lines(f"! {warning}", width, "  ", "    ")
    if matrix.rows:
        lines += ["", *render_text(table_of_matrix(matrix), width, colour=colour, indent="  ").splitlines()]
    lines += _failures(matrix, width)
    lines += [*_details(matrix, width), *_foot(matrix, width)]
    return "\n".join(lines) + "\n"


def table_of_matrix(matrix: EnvironmentComparison) -> Table:
    """Return a row per benchmark: its time on the reference, its verdict on each other side, and where it changed."""
    names = short_names(matrix.names)
    sides = range(1, len(names))
    columns = [
        Column("benchmark", "benchmark", Kind.NAME),
        Column("reference_seconds", names[0], Kind.TIME, priority=2),
        # The latest side stays longest.
        *(Column(f"side_{side}", names[side], Kind.CHANGE, priority=2 + len(names) - side) for side in sides),
        Column("changed_at", "changed at", Kind.WORDS, priority=1),
    ]
    return table_of(columns, [_row(row, names) for row in matrix.rows])


def _row(row: ComparisonRow, names: Sequence[str]) -> Row:
    cells: dict[str, Cell | Value] = {
        "benchmark": row.title,
        "reference_seconds": Cell(row.reference_seconds or None, "" if row.reference_seconds else reference_text(row)),
        "changed_at": steps_text(row, names),
    }
    for side in range(1, len(names)):
        cell = row.cells.get(side)
        text = cell_text(row, side)
        mark = Mark.FAINT if text == SKIPPED else Mark.NONE if cell is None else mark_of(cell.verdict)
        cells[f"side_{side}"] = Cell(None if cell is None else cell.judged.ratio, text, mark)
    return row_of(cells)


def _failures(matrix: EnvironmentComparison, width: int) -> Iterator[str]:
    for row in matrix.rows:
        for place, message in failures_of(row):
            yield from note_lines(f"failed on {matrix.names[place]}: {row.title}: {message}", width, "  ", "    ")
        for warning in row.warnings:
            yield from note_lines(f"! {row.title}: {warning}", width, "  ", "    ")
    for title in matrix.not_reached:
        yield from note_lines(f"{NOT_REACHED}: {title}", width, "  ", "    ")
    for line in skips_text(matrix):
        yield from note_lines(line, width, "  ", "    ")


def failures_of(row: ComparisonRow) -> list[tuple[int, str]]:
    """Return the places of the sides on which it failed, and why."""
    return [(place, failure.message) for place, failure in sorted(row.failures.items())]


def details_of(matrix: EnvironmentComparison) -> Iterator[tuple[ComparisonResult, list[str]]]:
    """Yield the details of a benchmark on a side: causes, memory, acceptances."""
    for row in matrix.rows:
        for _, cell in sorted(row.cells.items()):
            lines = [line for line in detail_lines(cell) if not line.startswith("! ")]
            if lines:
                yield cell, lines


def _details(matrix: EnvironmentComparison, width: int) -> Iterator[str]:
    names = short_names(matrix.names)
    for cell, lines in details_of(matrix):
        yield f"  {visible(cell.title)} on {visible(names[cell.side])}:".replace("\n", " ")
        for line in lines:
            yield from note_lines(line, width, "      ", "        ")


def foot_text(matrix: EnvironmentComparison) -> str:
    # Not kept in files.
    measured = f" {matrix.measuring_seconds:.1f} s measured." if matrix.measuring_seconds else ""
    return (
        f"Changes are relative to {matrix.names[0]}, those of 'changed at' to the side before. Changes below "
        f"{percent(matrix.margin)} count as none. On average, at most {percent(matrix.false_discovery_rate)} of the "
        f"verdicts slower and faster are wrong.{measured}"
    )


def _foot(matrix: EnvironmentComparison, width: int) -> list[str]:
    return ["", *note_lines(foot_text(matrix), width)] if matrix.rows else []


def render_matrix_markdown(matrix: EnvironmentComparison) -> str:
    """Return Markdown for a pull request."""
    parts = [f"{_MARKS[matrix.outcome]} **{inline(headline(matrix))}**"]
    sides = [f"- reference: {inline(matrix.names[0])}"]
    sides += [f"- {inline(name)}: {side_counts(matrix, side)}" for side, name in enumerate(matrix.names) if side]
    parts.append("\n".join(sides))
    parts += [f"- ⚠️ {inline(warning)}" for warning in matrix.warnings]
    names = short_names(matrix.names)
    if matrix.rows:
        parts.append(pipe_table(table_of_matrix(matrix)))
        parts.append(f"<sub>{inline(foot_text(matrix))}</sub>")
    failed = [
        f"- failed on {inline(matrix.names[place])}: {inline(row.title)}: {inline(message)}"
        for row in matrix.rows
        for place, message in failures_of(row)
    ]
    failed += [f"- {inline(line)}" for line in skips_text(matrix)]
    if failed:
        parts.append("\n".join(failed))
    details = [
        f"- {inline(cell.title)} on {inline(names[cell.side])}: {inline('; '.join(lines))}"
        for cell, lines in details_of(matrix)
    ]
    if details:
        parts.append(folded("Causes and notes", "\n".join(details)))
    return "\n\n".join(parts) + "\n"
