"""What `ab` prints, and `show` for a file that `ab` wrote: the ranking with its verdicts, then counts and memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from photometer.cli.output_options import TERMINAL
from photometer.cli.printing import terminal_width
from photometer.model.records import to_record
from photometer.report.tables.formats import JSON, MARKDOWN

if TYPE_CHECKING:
    from photometer.analysis.ranking import Ranking
    from photometer.comparing.ab_findings import StatementCount
    from photometer.model.memory_measurement import MemoryMeasurement
    from photometer.model.results_reader import Results
    from photometer.report.tables.formats import Format

# Of blocks of text in Markdown.
MARKDOWN_WIDTH = 100


def ranking_lines(ranking: Ranking, beside: Sequence[str], *, colour: bool) -> str:
    """Return the ranking for a terminal, with the other measurements below it."""
    from photometer.report.ranking_text import render_ranking

    texts = [beside_text(text, markdown=False) for text in beside]
    return "".join([render_ranking(ranking, terminal_width(), colour=colour), *texts])


def ranking_markdown(ranking: Ranking, beside: Sequence[str]) -> str:
    from photometer.report.ranking_text import render_ranking_markdown

    return "".join([render_ranking_markdown(ranking), *(beside_text(text, markdown=True) for text in beside)])


def beside_text(text: str, *, markdown: bool) -> str:
    """Return the other measurements as they stand below the ranking."""
    return f"\n```text\n{text}```\n" if markdown else f"\n{text}"


def ranking_json(ranking: Ranking, **more: Any) -> str:
    """Return one document: the ranking's record, and the other given records that are not empty."""
    record = {**to_record(ranking), **{name: value for name, value in more.items() if value}}
    return json.dumps(record, indent=2) + "\n"


def counts_text(counted: Sequence[StatementCount], width: int) -> str:
    """Return the figures of all statements, and how each differs from the first."""
    from photometer.report.instructions_text import render_counts, render_difference
    from photometer.report.ranking_text import shown_name

    first, *others = counted
    parts = [render_counts([each.counts for each in counted], width)]
    for other in others:
        title = shown_name(other.counts.task_spec.title)
        if other.is_identical:
            parts.append(f"{title} executes the same instructions as the first, function by function.")
            continue
        parts.append(f"{title} against the first, in instructions per run:")
        parts.append(render_difference(first.functions, other.functions, first.counts.number_per_run, width))
    return "\n\n".join(parts) + "\n"


def memory_text(memories: Sequence[MemoryMeasurement], width: int) -> str:
    """Return what all statements allocate, and how each differs from the first."""
    from photometer.report.figures_text import render_memories, render_memory_differences

    return f"{render_memories(memories, width)}\n{render_memory_differences(memories)}"


def is_ab(results: Results) -> bool:
    """Return whether `ab` wrote this file."""
    return isinstance(results.header.get("ab"), Mapping) and "ranking" in results.kinds


def render_ab(
    ranking: Ranking,
    format: Format,
    beside: Callable[[int], Sequence[str]],
    more: Mapping[str, object],
    *,
    colour: bool = False,
) -> str:
    """Return a ranking in one of the formats: for people with other measurements beside it, as JSON with more records.

    `beside` makes the texts for a width. A plain table has the ranking alone.
    """
    from photometer.report.ranking_text import render_ranking_in

    if format is TERMINAL:
        return ranking_lines(ranking, beside(terminal_width()), colour=colour)
    if format is MARKDOWN:
        return ranking_markdown(ranking, beside(MARKDOWN_WIDTH))
    return ranking_json(ranking, **more) if format is JSON else render_ranking_in(format, ranking)


def show_ab(results: Results, format: Format, *, colour: bool) -> str:
    """Return a file of `ab` as `ab` printed it, except for the functions that differ, which files do not keep."""
    from photometer.analysis.ranking import Ranking
    from photometer.model.instruction_counts import InstructionCounts
    from photometer.model.memory_measurement import MemoryMeasurement
    from photometer.report.instructions_text import render_counts

    (ranking, *_), counts = results.of(Ranking), results.of(InstructionCounts)
    memories = results.of(MemoryMeasurement)

    def beside(width: int) -> list[str]:
        texts = [render_counts(counts, width) + "\n"] if counts else []
        return texts + ([memory_text(memories, width)] if memories else [])

    more = {"instructions": [*map(to_record, counts)], "memory": [*map(to_record, memories)]}
    return render_ab(ranking, format, beside, more, colour=colour)
