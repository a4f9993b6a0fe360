"""What `ab` prints, and `show` for a file that `ab` wrote: the ranking with its verdicts, then counts and memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from photometer.cli.printing import terminal_width
from photometer.model.records import to_record

if TYPE_CHECKING:
    from photometer.analysis.ranking import Ranking
    from photometer.comparing.ab_findings import StatementCount
    from photometer.model.memory_measurement import MemoryMeasurement
    from photometer.model.results_reader import Results

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


def show_ab(results: Results, format: str, *, colour: bool) -> str:
    """Return a file of `ab` as `ab` printed it, except for the functions that differ, which files do not keep."""
    from photometer.analysis.ranking import Ranking
    from photometer.model.instruction_counts import InstructionCounts
    from photometer.model.memory_measurement import MemoryMeasurement
    from photometer.report.instructions_text import render_counts
    from photometer.report.ranking_text import render_ranking_csv

    (ranking, *_), counts = results.of(Ranking), results.of(InstructionCounts)
    memories = results.of(MemoryMeasurement)
    if format == "json":
        return ranking_json(ranking, instructions=[*map(to_record, counts)], memory=[*map(to_record, memories)])
    if format == "csv":
        return render_ranking_csv(ranking)
    width = MARKDOWN_WIDTH if format == "markdown" else terminal_width()
    beside = [render_counts(counts, width) + "\n"] if counts else []
    beside += [memory_text(memories, width)] if memories else []
    return ranking_markdown(ranking, beside) if format == "markdown" else ranking_lines(ranking, beside, colour=colour)
