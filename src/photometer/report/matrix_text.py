"""A comparison of many sides as text for the terminal, and as Markdown: versions across, benchmarks down.

In: a MatrixComparison. Out: one string: the outcome first, then the sides with their counts, then a row per benchmark
with its verdict on each side against the reference, and the steps at which it changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from photometer.analysis.matrix_result import MatrixCell, MatrixComparison, MatrixRow
from photometer.analysis.verdict import VERDICT_WORDS
from photometer.analysis.verdict_reason import percent
from photometer.model.visible_text import visible
from photometer.report.escape import markdown_text
from photometer.report.text_width import pad, width_of, wrap
from photometer.report.verdict_text import change_text, duration

_COLOURS = {"slower": "\033[1;31m", "faster": "\033[32m", "undecided": "\033[33m"}
_PLAIN = "\033[0m"
_MARKS = {"slower": "🔴", "failed": "🔴", "undecided": "🟡", "fine": "🟢", "nothing": "⚪"}
# A name is cut before its first difference only after one of these: `pip:torch==2.1` must not become `1`.
_JOINTS = "=:/@ "
LONGEST_NAME = 28


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without what all of them begin with, and without remarks in parentheses, if they are told apart."""
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
    return [name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…" for name in short]


def headline(matrix: MatrixComparison) -> str:
    """Return the outcome in one line."""
    short = short_names(matrix.names)
    slower = [
        f"{short[side]} in {matrix.count('slower', side)}"
        for side in range(1, len(matrix.names))
        if matrix.count("slower", side)
    ]
    if slower:
        return f"Slower than {short[0]}: {', '.join(slower)} of {len(matrix.rows)} benchmarks."
    return {
        "failed": "Something failed; of what ran, nothing is slower.",
        "undecided": "Undecided: nothing is shown to be slower, but not everything could be decided.",
        "fine": f"Nothing is slower than {short[0]}.",
        "nothing": "Nothing ran.",
    }.get(matrix.outcome, "Nothing is slower.")


def side_counts(matrix: MatrixComparison, side: int) -> str:
    """Return the verdicts of one side in words: 2 slower, 30 same."""
    parts = [f"{count} {word}" for word in VERDICT_WORDS if (count := matrix.count(word, side))]
    missing = sum(cell.judged is None for row in matrix.rows for cell in row.cells if cell.side == side)
    return ", ".join([*parts, *([f"{missing} without a verdict"] if missing else [])]) or "nothing ran"


def cell_text(cell: MatrixCell) -> str:
    if cell.judged is None:
        return "failed" if cell.failure else "–"
    if cell.verdict in ("same", "identical"):
        return str(cell.verdict)
    if not cell.judged.replicates and cell.instructions is not None:
        # Counted and not timed.
        return f"{change_text(cell.instructions.ratio)} instructions"
    return f"{change_text(cell.judged.ratio)} {'?' if cell.verdict == 'undecided' else cell.verdict}"


def steps_text(row: MatrixRow, names: Sequence[str]) -> str:
    """Return where it changed: `2.12.1 (+3.1 %), 2.13.0 (-2.0 %)`; each against the side before."""
    return ", ".join(
        f"{names[cell.side]} ({change_text(cell.step.ratio)})" for cell in row.changes if cell.step is not None
    )


def reference_text(row: MatrixRow) -> str:
    if not row.reference_seconds:
        return "failed" if row.failure else "–"
    return duration(row.reference_seconds)


def render_matrix(matrix: MatrixComparison, width: int = 100, colour: bool = False) -> str:
    """Return the text for a terminal of this width."""
    lines = [visible(headline(matrix)), ""]
    lines.append(f"  reference  {visible(matrix.names[0])}")
    for side, name in enumerate(matrix.names[1:], start=1):
        lines.append(f"  side {side:<5} {visible(name)}: {side_counts(matrix, side)}")
    for warning in matrix.warnings:
        lines += _indented(f"! {warning}", width, "  ", "    ")
    lines += ["", *_table(matrix, colour), *_failures(matrix, width), *_foot(matrix, width)]
    return "\n".join(lines) + "\n"


def _table(matrix: MatrixComparison, colour: bool) -> Iterator[str]:
    names = [visible(name) for name in short_names(matrix.names)]
    heads = ("benchmark", *names, "changed at")
    rows = matrix.by_importance
    texts = [
        (visible(row.title), reference_text(row), *map(cell_text, row.cells), visible(steps_text(row, names)))
        for row in rows
    ]
    if not texts:
        return
    widths = [max(width_of(each[column]) for each in (heads, *texts)) for column in range(len(heads))]
    yield "  " + "  ".join(pad(head, size) for head, size in zip(heads, widths, strict=True)).rstrip()
    for row, text in zip(rows, texts, strict=True):
        padded = [pad(each, size) for each, size in zip(text, widths, strict=True)]
        if colour:
            for column, cell in enumerate(row.cells, start=2):
                shade = _COLOURS.get(cell.verdict or "")
                padded[column] = f"{shade}{padded[column]}{_PLAIN}" if shade else padded[column]
        yield "  " + "  ".join(padded).rstrip()


def _failures(matrix: MatrixComparison, width: int) -> Iterator[str]:
    for row in matrix.rows:
        for place, message in failures_of(row):
            yield from _indented(f"failed on {matrix.names[place]}: {row.title}: {message}", width, "  ", "    ")
        for warning in row.warnings:
            yield from _indented(f"! {row.title}: {warning}", width, "  ", "    ")


def failures_of(row: MatrixRow) -> list[tuple[int, str]]:
    """Return the places of the sides on which it failed, and why."""
    own = [(0, row.failure)] if row.failure else []
    return own + [(cell.side, cell.failure) for cell in row.cells if cell.failure]


def foot_text(matrix: MatrixComparison) -> str:
    return (
        f"Changes are against {matrix.names[0]}; 'changed at' is against the side before. "
        f"Margin {percent(matrix.margin)}; at most {percent(matrix.false_discovery_rate)} of the verdicts slower and "
        f"faster are false, on average. {matrix.measuring_seconds:.1f} s measured."
    )


def _foot(matrix: MatrixComparison, width: int) -> list[str]:
    return ["", *wrap(visible(foot_text(matrix)), width)] if matrix.rows else []


def _indented(text: str, width: int, first: str, rest: str) -> list[str]:
    lines = wrap(visible(text), max(width - len(rest), 20))
    return [(first if index == 0 else rest) + line for index, line in enumerate(lines)]


def render_matrix_markdown(matrix: MatrixComparison) -> str:
    """Return Markdown for a pull request."""
    parts = [f"{_MARKS[matrix.outcome]} **{_inline(headline(matrix))}**"]
    sides = [f"- reference: {_inline(matrix.names[0])}"]
    sides += [f"- {_inline(name)}: {side_counts(matrix, side)}" for side, name in enumerate(matrix.names) if side]
    parts.append("\n".join(sides))
    parts += [f"- ⚠️ {_inline(warning)}" for warning in matrix.warnings]
    names = short_names(matrix.names)
    lines = ["| " + " | ".join(["benchmark", *map(_inline, names), "changed at"]) + " |"]
    lines.append("| :--- |" + " ---: |" * len(names) + " :--- |")
    for row in matrix.by_importance:
        cells = [f"**{cell_text(cell)}**" if cell.verdict == "slower" else cell_text(cell) for cell in row.cells]
        texts = [_inline(row.title), reference_text(row), *cells, _inline(steps_text(row, names))]
        lines.append("| " + " | ".join(texts) + " |")
    if matrix.rows:
        parts.append("\n".join(lines))
        parts.append(f"<sub>{_inline(foot_text(matrix))}</sub>")
    failed = [
        f"- failed on {_inline(matrix.names[place])}: {_inline(row.title)}: {_inline(message)}"
        for row in matrix.rows
        for place, message in failures_of(row)
    ]
    if failed:
        parts.append("\n".join(failed))
    return "\n\n".join(parts) + "\n"


def _inline(text: str) -> str:
    return markdown_text(text).replace("<br>", " ")
