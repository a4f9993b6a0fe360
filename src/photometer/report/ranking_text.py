"""A Ranking as text for the terminal, as Markdown, and as CSV.

In: what `ab` found of two or more statements. Out: one string: the outcome in the first line, then one row per
statement, fastest first, and below them what is undecided and why.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

from photometer.analysis.ranking import RankedStatement, Ranking
from photometer.analysis.verdict_reason import percent
from photometer.model.visible_text import visible
from photometer.report.escape import csv_text, markdown_text
from photometer.report.text_width import pad, width_of, wrap
from photometer.report.verdict_text import duration, interval_text, more_time

_COLOURS = {"slower": "\033[1;31m", "faster": "\033[32m", "undecided": "\033[33m"}
_PLAIN = "\033[0m"
_HEADS = ("rank", "verdict", "ratio", "interval", "time", "difference", "statement")
# The first statement, which the others are compared with.
REFERENCE = "reference"
CSV_FIELDS = (
    "rank",
    "statement",
    "verdict",
    "ratio",
    "ratio_low",
    "ratio_high",
    "seconds",
    "difference_seconds",
    "difference_low_seconds",
    "difference_high_seconds",
    "replicates",
    "measured_by",
)


def render_ranking(ranking: Ranking, width: int = 100, colour: bool = False) -> str:
    """Return the text for a terminal of this width."""
    lines = [*wrap(headline(ranking), width), ""]
    cells = [_cells(statement) for statement in ranking]
    widths = [max(width_of(row[i]) for row in (_HEADS[:-1], *cells)) for i in range(len(_HEADS) - 1)]
    lines.append("  " + "  ".join(pad(head, size) for head, size in zip(_HEADS, (*widths, 0), strict=True)).rstrip())
    for statement, row in zip(ranking, cells, strict=True):
        padded = [pad(text, size) for text, size in zip(row, widths, strict=True)]
        if colour and row[1] in _COLOURS:
            padded[1] = f"{_COLOURS[row[1]]}{padded[1]}{_PLAIN}"
        lines.append("  " + "  ".join([*padded, shown_name(statement.name)]))
    for line in _below(ranking):
        lines += ["", *wrap(line, width)]
    return "\n".join(lines) + "\n"


def render_ranking_markdown(ranking: Ranking) -> str:
    """Return Markdown: the outcome, a table, and what is below it."""
    lines = [f"**{_inline(headline(ranking))}**", "", "| " + " | ".join(_HEADS) + " |"]
    lines.append("| ---: | :--- | ---: | ---: | ---: | ---: | :--- |")
    for statement in ranking:
        lines.append("| " + " | ".join((*_cells(statement), markdown_text(shown_name(statement.name)))) + " |")
    for line in _below(ranking):
        lines += ["", _inline(line)]
    return "\n".join(lines) + "\n"


def render_ranking_csv(ranking: Ranking) -> str:
    """Return one line per statement, at full precision; the reference has no figures of a comparison."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(CSV_FIELDS)
    for statement in ranking:
        verdict = statement.verdict
        head = [statement.rank, csv_text(statement.name), REFERENCE if verdict is None else verdict.verdict]
        if verdict is None:
            writer.writerow([*head, 1.0, None, None, repr(statement.seconds), *[None] * 4, ranking.measured_by])
            continue
        ends = [end if math.isfinite(end) else None for end in verdict.interval]
        differences = [end if math.isfinite(end) else None for end in verdict.difference_interval_seconds]
        times = [repr(statement.seconds), verdict.difference_seconds, *differences]
        writer.writerow([*head, verdict.ratio, *ends, *times, verdict.replicates, csv_text(verdict.measured_by)])
    return out.getvalue()


def headline(ranking: Ranking) -> str:
    """Return the outcome in one line."""
    if len(ranking) == 2:
        (pair,) = ranking.pairs
        word, reason = pair.verdict.verdict, pair.verdict.reason
        sentence = reason if reason.startswith(word) else f"{word}, {reason}"
        return f"{shown_name(pair.second)} against {shown_name(pair.first)}: {sentence}"
    fastest = [shown_name(name) for name in ranking.fastest]
    if len(fastest) == 1:
        return f"Fastest of {len(ranking)}: {fastest[0]}"
    if len(fastest) == len(ranking):
        return f"None of the {len(ranking)} is shown to differ from the fastest."
    return f"Fastest of {len(ranking)}, not shown to differ: {', '.join(fastest)}"


def shown_name(name: str) -> str:
    """Return a statement in one line, with nothing in it that acts on the screen."""
    return "; ".join(line.strip() for line in visible(name).split("\n") if line.strip())


def ratio_text(ratio: float) -> str:
    """Return four digits after the point while they mean something: 1.0031, 24.6, 1830."""
    return f"{ratio:.4f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 1000 else f"{ratio:.0f}"


def _cells(statement: RankedStatement) -> tuple[str, ...]:
    """Return what `_HEADS` names, less the statement itself."""
    verdict = statement.verdict
    if verdict is None:
        return (str(statement.rank), REFERENCE, "", "", duration(statement.seconds), "")
    return (
        str(statement.rank),
        verdict.verdict,
        ratio_text(verdict.ratio),
        interval_text(verdict.interval),
        duration(statement.seconds),
        duration(verdict.difference_seconds, signed=True),
    )


def _below(ranking: Ranking) -> Iterator[str]:
    """Yield what a reader must know besides the figures."""
    if len(ranking) > 2:
        yield from _about_many(ranking)
    elif not ranking.decided:
        yield from (f"{line}." for line in more_time(ranking.pairs[0].verdict))
    yield from ranking.notes
    if ranking.measured_by:
        yield f"Measured: {ranking.measured_by}."


def _about_many(ranking: Ranking) -> Iterator[str]:
    verdict = ranking.pairs[0].verdict
    yield (
        f"Equal ranks: not shown to differ from the fastest of that rank. Margin {percent(verdict.margin)}; verdicts "
        f"are corrected for {len(ranking.pairs)} pairs."
    )
    undecided = [pair for pair in ranking.pairs if not pair.verdict.decided]
    if undecided:
        shown = "; ".join(f"{shown_name(pair.first)} and {shown_name(pair.second)}" for pair in undecided[:3])
        more = f" and {len(undecided) - 3} more" if len(undecided) > 3 else ""
        yield f"Undecided, more time would tell: {shown}{more}."


def _inline(text: str) -> str:
    return markdown_text(text).replace("<br>", " ")
