"""A Ranking as text for the terminal, as Markdown, and as CSV.

In: the ranking of two or more statements. Out: one string: the outcome in the first line, then one row per statement,
fastest first, and below them which pairs are undecided and why.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from photometer.analysis.ranking import RankedStatement, Ranking
from photometer.model.units import percent
from photometer.model.visible_text import visible
from photometer.report.tables.as_csv import write_csv
from photometer.report.tables.as_markdown import inline, render_markdown
from photometer.report.tables.as_text import note_lines, render_text
from photometer.report.tables.formats import CSV, MARKDOWN, Format
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Row, Table, Value, row_of, table_of
from photometer.report.verdict_text import mark_of, more_time

# The first statement, which the others are compared with.
REFERENCE = "reference"
COLUMNS = (
    Column("rank", "rank", Kind.COUNT, priority=STAYS),
    Column("verdict", "verdict", Kind.WORDS, priority=STAYS),
    Column("ratio", "ratio", Kind.RATIO, priority=2, digits=5),
    Column("interval", "interval", Kind.CHANGE, priority=1, meaning="of the change against the reference"),
    Column("seconds", "time", Kind.TIME, priority=STAYS),
    Column("difference_seconds", "difference", Kind.DIFFERENCE, priority=3),
    Column("statement", "statement", Kind.NAME, is_code=True),
)
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


def table_of_ranking(ranking: Ranking) -> Table:
    """Return a row per statement, fastest first, and notes besides the figures."""
    return table_of(COLUMNS, [_row(statement) for statement in ranking], notes=tuple(_below(ranking)))


def render_ranking(ranking: Ranking, width: int = 100, colour: bool = False) -> str:
    """Return the text for a terminal of this width."""
    head = "\n".join(note_lines(headline(ranking), width))
    return f"{head}\n\n{render_text(table_of_ranking(ranking), width, colour=colour)}"


def render_ranking_markdown(ranking: Ranking) -> str:
    """Return Markdown: the outcome, a table, and what is below it."""
    return f"**{inline(headline(ranking))}**\n\n{render_markdown(table_of_ranking(ranking))}"


def render_ranking_in(format: Format, ranking: Ranking) -> str:
    """Return the ranking in one of the formats."""
    own = {MARKDOWN: render_ranking_markdown, CSV: render_ranking_csv}
    if format in own:
        return own[format](ranking)
    return format.render(dataclasses.replace(table_of_ranking(ranking), title=headline(ranking)))


def render_ranking_csv(ranking: Ranking) -> str:
    """Return one line per statement, at full precision; the reference has no figures of a comparison."""
    return write_csv(CSV_FIELDS, [_record(statement, ranking) for statement in ranking])


def _record(statement: RankedStatement, ranking: Ranking) -> dict[str, Any]:
    verdict = statement.verdict
    record: dict[str, Any] = {"rank": statement.rank, "statement": statement.name, "seconds": statement.seconds}
    if verdict is None:
        return {**record, "verdict": REFERENCE, "ratio": 1.0, "measured_by": ranking.measured_by}
    (low, high), (less, more) = verdict.interval, verdict.difference_interval_seconds
    return {
        **record,
        "verdict": verdict.verdict,
        "ratio": verdict.ratio,
        "ratio_low": low,
        "ratio_high": high,
        "difference_seconds": verdict.difference_seconds,
        "difference_low_seconds": less,
        "difference_high_seconds": more,
        "replicates": verdict.replicates,
        "measured_by": verdict.measured_by,
    }


def headline(ranking: Ranking) -> str:
    """Return the outcome in one line."""
    if len(ranking) == 2:
        (pair,) = ranking.pairs
        word, reason = pair.verdict.verdict, pair.verdict.reason
        sentence = reason if reason.startswith(word) else f"{word}: {reason}"
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


def _row(statement: RankedStatement) -> Row:
    verdict = statement.verdict
    cells: dict[str, Cell | Value] = {
        "rank": statement.rank,
        "statement": shown_name(statement.name),
        "seconds": statement.seconds,
    }
    if verdict is None:
        return row_of({**cells, "verdict": REFERENCE})
    return row_of(
        {
            **cells,
            "verdict": Cell(verdict.words, mark=mark_of(verdict.verdict)),
            "ratio": verdict.ratio,
            "interval": verdict.interval,
            "difference_seconds": verdict.difference_seconds,
        },
        tip=verdict.reason,
    )


def _below(ranking: Ranking) -> Iterator[str]:
    """Yield the notes besides the figures."""
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
        yield f"Undecided; more time would decide: {shown}{more}."
