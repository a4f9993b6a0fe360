"""A comparison of two environments as text for the terminal, and as Markdown for a pull request.

In: an EnvironmentComparison. Out: one string: the outcome in the first line, then one row per benchmark, the most
important ones first. Causes and notes stand below a row; Markdown folds them, and benchmarks that did not change.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from photometer.analysis.cause import own_sentences
from photometer.analysis.comparison_result import NOT_REACHED, SIDE_NAMES, ComparisonResult, EnvironmentComparison
from photometer.analysis.failing_line import telling_lines, with_failing_line
from photometer.analysis.verdict import PROBABLE_WORDS, VERDICT_WORDS, Verdict, bound_text
from photometer.model.units import percent
from photometer.model.visible_text import visible
from photometer.report.skipped_text import skipped_lines
from photometer.report.tables.as_markdown import folded, inline, pipe_table, row_notes
from photometer.report.tables.as_text import note_lines, render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Mark, Row, Table, Value, row_of, table_of

COLUMNS = (
    Column("verdict", "verdict", Kind.WORDS, priority=STAYS),
    Column("ratio", "change", Kind.CHANGE, priority=STAYS),
    Column("interval", "interval", Kind.CHANGE, priority=1, meaning="right in 95 of 100 comparisons"),
    Column("base_seconds", "base", Kind.TIME, priority=3),
    Column("difference_seconds", "difference", Kind.DIFFERENCE, priority=2),
    Column("detectable", "detectable", Kind.SHARE, priority=4, meaning="the smallest change that would have been seen"),
    Column("benchmark", "benchmark", Kind.NAME),
)
_VERDICT_MARKS = {
    "slower": Mark.BAD,
    "probably slower": Mark.DOUBT,
    "undecided": Mark.DOUBT,
    "probably faster": Mark.GOOD,
    "faster": Mark.GOOD,
}
_MARKS = {"slower": "🔴", "failed": "🔴", "undecided": "🟡", "fine": "🟢", "nothing": "⚪"}
# Markdown shows these verdicts and folds the others.
_SHOWN = ("slower", "probably slower", "undecided", "probably faster", "faster")
# The first line has a reason if it is short; it stands below in any case.
LONGEST_REASON = 80
# The results file has the whole log.
LOG_LINES = 6


def render_verdicts(comparison: EnvironmentComparison, width: int = 100, colour: bool = False) -> str:
    """Return the text for a terminal of this width."""
    lines = [headline(comparison), ""]
    lines += [f"  base    {visible(comparison.base)}", f"  branch  {visible(comparison.branch)}"]
    for warning in comparison.warnings:
        lines += note_lines(f"! {warning}", width, "  ", "    ")
    lines.append("")
    if comparison.results:
        table = table_of_results(comparison.by_importance)
        lines += render_text(table, width, colour=colour, indent="  ").splitlines()
    lines += _sweeps(comparison, width)
    lines += _failures(comparison, width)
    lines += _foot(comparison, width)
    return "\n".join(lines) + "\n"


def render_causes(comparison: EnvironmentComparison, before: EnvironmentComparison, width: int = 100) -> str:
    """Return the findings since `before` was printed: causes, memory, metrics. Empty if there are none."""
    known = {(result.order_id, result.side): detail_lines(result) for result in before.results}
    lines: list[str] = []
    for result in comparison.titled_by_side().by_importance:
        new = [line for line in detail_lines(result) if line not in known.get((result.order_id, result.side), ())]
        if new:
            lines.append(f"  {result.verdict}  {visible(result.title)}".replace("\n", " "))
            for line in new:
                lines += note_lines(line, width, "      ", "        ")
    if comparison.metrics and not before.metrics:
        lines += _sweeps(dataclasses.replace(comparison, sweeps=()), width)
    for warning in comparison.warnings:
        if warning not in before.warnings:
            lines += note_lines(f"! {warning}", width, "  ", "    ")
    return "\n".join(["Why:", *lines]) + "\n" if lines else ""


def headline(comparison: EnvironmentComparison) -> str:
    """Return the outcome in one line."""
    accepted = sum(bool(result.accepted) and result.verdict == "slower" for result in comparison.results)
    parts = count_parts(comparison)
    if accepted:
        # Those that are slower stand first.
        parts[0] += f" ({accepted_words(comparison)})"
    parts += memory_parts(comparison)
    parts += [f"{len(comparison.failures)} failed"] if comparison.failures else []
    parts += [f"{comparison.skipped} skipped"] if comparison.skips else []
    parts += [f"{len(comparison.not_reached)} not reached"] if comparison.not_reached else []
    answer = {
        "slower": "The branch is slower.",
        "failed": "Something failed; nothing that ran is slower.",
        "undecided": "Undecided: nothing is shown to be slower, but some benchmarks could not be decided.",
        "fine": "Nothing is slower except what is accepted." if accepted else fine_answer(comparison),
        "nothing": "Nothing ran.",
    }[comparison.outcome]
    if comparison.outcome == "fine" and not comparison.results:
        answer = "Nothing was compared."
    return f"{answer} {', '.join(parts)}." if parts else answer


def accepted_words(comparison: EnvironmentComparison) -> str:
    """Return how many of the slower benchmarks are accepted, and why: `accepted: the check is needed`."""
    slower = [result for result in comparison.results if result.verdict == "slower"]
    accepted = [result for result in slower if result.accepted]
    reasons = dict.fromkeys(result.accepted for result in accepted)
    number = "" if len(accepted) == len(slower) else f"{len(accepted)} "
    why = f": {next(iter(reasons))}" if len(reasons) == 1 else ""
    return f"{number}accepted{why if len(why) <= LONGEST_REASON else f'{why[:LONGEST_REASON]}…'}"


def fine_answer(comparison: EnvironmentComparison, than: str = "") -> str:
    """Return the headline if nothing is slower for certain, with the largest possible difference."""
    if comparison.count("probably slower"):
        return f"Nothing is certain to be slower{than}."
    only_bound = all(result.verdict in ("same", "identical") for result in comparison.results)
    if only_bound and comparison.bound is not None:
        return f"Nothing is slower{than}: no difference above {bound_text(comparison.bound)}."
    return f"Nothing is slower{than}."


def count_parts(comparison: EnvironmentComparison) -> list[str]:
    """Return the number of benchmarks by verdict: `1 slower`, `3 same within 1 %`, the widest bound of these."""
    counts = [(word, comparison.count(word)) for word in VERDICT_WORDS]
    within = "" if comparison.bound is None else f" within {bound_text(comparison.bound)}"
    return [f"{count} {word}{within if word == 'same' else ''}" for word, count in counts if count]


def memory_parts(comparison: EnvironmentComparison) -> list[str]:
    """Return `2 allocate more`, and how many allocate less: verdicts of their own beside those of time."""
    return memory_counts(Counter(each.memory.verdict for each in comparison.results if each.memory is not None))


def memory_counts(counts: Mapping[str, int]) -> list[str]:
    """Return the same of how many changes there are of each kind."""
    named = [("more", counts.get("more", 0)), ("less", counts.get("less", 0)), ("otherwise", counts.get("mixed", 0))]
    return [f"{count} allocate{'s' if count == 1 else ''} {word}" for word, count in named if count]


def _detectable(verdict: Verdict) -> Cell:
    """Return the smallest change that the measurement could have detected in the time it took."""
    return Cell(text="–") if verdict.detectable_now is None else Cell(verdict.detectable_now)


def detail_lines(result: ComparisonResult) -> list[str]:
    """Return the lines below a row: cause, warnings, notes and, if it is undecided, the gain from more time."""
    lines = [f"accepted: {result.accepted}"] if result.accepted else []
    lines += [result.cause] if result.cause else []
    lines += [f"memory: {result.memory.sentence}"] if result.memory is not None and result.memory.sentence else []
    lines += own_sentences(result.figures)
    lines += [f"! {warning}" for warning in result.warnings]
    if result.verdict in ("undecided", *PROBABLE_WORDS):
        lines.append(result.judged.reason)
        lines += more_time(result.judged)
    lines += result.judged.notes
    return lines


def more_time(verdict: Verdict) -> list[str]:
    detectable = verdict.detectable if verdict.detectable_now is not None else None
    if detectable is None or not math.isfinite(detectable.four_times_the_time) or not verdict.paired:
        return []
    return [
        f"a change of {percent(detectable.twice_the_time)} would be seen with twice the time, "
        f"of {percent(detectable.four_times_the_time)} with four times"
    ]


def _word(result: ComparisonResult) -> str:
    return "accepted" if result.accepted and result.verdict == "slower" else result.judged.words


def mark_of(word: str) -> Mark:
    """Return the mark for the word of a verdict."""
    return _VERDICT_MARKS.get(word, Mark.NONE)


def table_of_results(results: Sequence[ComparisonResult]) -> Table:
    """Return a row per benchmark, with its details below."""
    return table_of(COLUMNS, [_row(result) for result in results])


def _row(result: ComparisonResult) -> Row:
    judged = result.judged
    word = _word(result)
    mark = Mark.NONE if word == "accepted" else mark_of(result.verdict)
    cells: dict[str, Cell | Value] = {"verdict": Cell(word, mark=mark)}
    if judged.has_change:
        cells |= {
            "ratio": result.ratio,
            "interval": result.interval,
            "base_seconds": judged.base_seconds,
            "difference_seconds": result.difference_seconds,
            "detectable": _detectable(judged),
        }
    else:
        cells |= dict.fromkeys([column.key for column in COLUMNS[1:-1]], Cell(text="–"))
        cells |= {"base_seconds": judged.base_seconds} if judged.replicates else {}
    return row_of({**cells, "benchmark": result.title}, detail_lines(result))


def _sweeps(comparison: EnvironmentComparison, width: int) -> Iterator[str]:
    if comparison.sweeps:
        yield "  over sizes:"
    for sweep in comparison.sweeps:
        yield from note_lines(sweep.sentence, width, "    ", "      ")
    if comparison.metrics:
        yield "  metrics:"
    for metric in comparison.metrics:
        yield from note_lines(metric.sentence, width, "    ", "      ")


def _failures(comparison: EnvironmentComparison, width: int) -> Iterator[str]:
    for failure in comparison.failures:
        side = f" on the {failure.side} side" if failure.side else ""
        message = with_failing_line(failure.message, failure.log)
        yield from note_lines(f"failed{side}: {failure.title}: {message}", width, "  ", "    ")
        for line in telling_lines(failure.log, LOG_LINES):
            yield f"      {visible(line)}"
    for title in comparison.not_reached:
        yield f"  {NOT_REACHED}: {visible(title)}"
    for line in skips_text(comparison):
        yield from note_lines(line, width, "  ", "    ")


def skips_text(comparison: EnvironmentComparison) -> list[str]:
    """Return a line for each reason for which benchmarks were skipped."""
    sides = {name: f"the {name} side" for name in SIDE_NAMES}
    return skipped_lines((each.title, sides.get(each.side, each.side), each.message) for each in comparison.skips)


def _foot(comparison: EnvironmentComparison, width: int) -> list[str]:
    if not comparison.results:
        return []
    foot = (
        f"Changes below {comparison.margin_words} count as none. On average, at most "
        f"{percent(comparison.false_discovery_rate)} of the verdicts slower and faster are wrong. 95 of 100 intervals "
        "contain the true change; probably slower and probably faster say no more than that."
    )
    measured = f" {comparison.measuring_seconds:.1f} s measured." if comparison.measuring_seconds else ""
    return ["", *note_lines(foot + measured, width)]


def render_verdicts_markdown(comparison: EnvironmentComparison) -> str:
    """Return Markdown for a pull request: the outcome first, then changes; the rest is folded."""
    parts = [f"{_MARKS[comparison.outcome]} **{inline(headline(comparison))}**"]
    parts.append(f"Base: {inline(comparison.base)}<br>\nBranch: {inline(comparison.branch)}")
    parts += [f"- ⚠️ {inline(warning)}" for warning in comparison.warnings]
    shown = [result for result in comparison.by_importance if result.verdict in _SHOWN]
    same = [result for result in comparison.by_importance if result.verdict not in _SHOWN]
    if shown:
        parts.append(pipe_table(table_of_results(shown)))
    if same:
        parts.append(folded(f"{len(same)} same", pipe_table(table_of_results(same))))
    said = [sweep.sentence for sweep in comparison.sweeps] + [metric.sentence for metric in comparison.metrics]
    if said:
        parts.append("\n".join(f"- {inline(sentence)}" for sentence in said))
    details = row_notes(table_of_results(comparison.by_importance))
    if details:
        parts.append(folded("Causes and notes", details))
    if comparison.failures or comparison.not_reached or comparison.skips:
        parts.append(folded("Without a verdict", _markdown_failures(comparison)))
    if comparison.results:
        parts.append(
            f"<sub>Changes below {percent(comparison.margin)} count as none. On average, at most "
            f"{percent(comparison.false_discovery_rate)} of the verdicts slower and faster are wrong.</sub>"
        )
    return "\n\n".join(parts) + "\n"


def _markdown_failures(comparison: EnvironmentComparison) -> str:
    lines = []
    for failure in comparison.failures:
        side = f" on the {failure.side} side" if failure.side else ""
        message = with_failing_line(failure.message, failure.log)
        lines.append(f"- failed{inline(side)}: {inline(failure.title)}: {inline(message)}")
    lines += [f"- {NOT_REACHED}: {inline(title)}" for title in comparison.not_reached]
    lines += [f"- {inline(line)}" for line in skips_text(comparison)]
    return "\n".join(lines)
