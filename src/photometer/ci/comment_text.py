"""The comment on a pull request for reviewers: the verdict, what changed and why, the rest folded. GitHub Markdown.

In: a Review. Out: a text below the size of a comment, however many benchmarks there are. Text from elsewhere
(labels, causes, reasons) is escaped. The first line is an invisible marker by which the comment is found again.
The summary of a job on GitHub has the same text, and then all verdicts as in comparison.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from photometer.analysis.cause import own_sentences
from photometer.analysis.comparison_result import ComparisonResult
from photometer.analysis.figure_change import changed_by_themselves
from photometer.analysis.gate import Breach
from photometer.ci.acceptance import acceptance_line
from photometer.ci.github_run import LARGEST_SUMMARY
from photometer.ci.review import Review
from photometer.model.units import format_seconds
from photometer.plan.selection import plain_name
from photometer.report.comparison_text import headline, render_comparison_markdown
from photometer.report.tables.as_markdown import folded, inline, pipe_table
from photometer.report.tables.table import Cell, Column, Kind, Mark, Row, Value, row_of, table_of
from photometer.report.text_width import shorten_apart
from photometer.report.verdict_text import skips_text

# GitHub refuses a body of more than 65,536 characters. It counts some characters as two, as UTF-16 does; a link may
# still be added.
LARGEST_COMMENT = 65_536
ROOM_FOR_LINKS = 2_048
# Lines to paste; of more, the rest look alike.
ACCEPTED_SHOWN = 3
# A reviewer reads ten rows, not five hundred; the page has them all.
ROWS_SHOWN = 30
LONGEST_TITLE = 120
LONGEST_SENTENCE = 400
_MARKS = {"slower": "🔴", "broken": "🔴", "failed": "🔴", "undecided": "🟡", "fine": "🟢", "nothing": "⚪"}
_COLUMNS = (
    Column("verdict", "", Kind.WORDS),
    Column("benchmark", "benchmark", Kind.NAME, longest=LONGEST_TITLE),
    Column("ratio", "change", Kind.CHANGE),
    Column("interval", "interval", Kind.CHANGE),
    Column("seconds", "time", Kind.TIME),
    Column("why", "why", Kind.WORDS),
)
_CHANGED = ("slower", "probably slower", "undecided", "probably faster", "faster")
# Of a name with other signs the author finds the way to write it in docs/ci.md.
_PASTED = re.compile(r"[^<>@`]{1,120}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9 ._-]")


def marker(name: str) -> str:
    """Return the line by which a comment is found again; `name` distinguishes the comments of two suites."""
    return f"<!-- photometer-comment {_NOT_IN_NAMES.sub('', name)[:80].strip().replace('--', '-')} -->"


def render_comment(review: Review, link: str = "") -> str:
    """Return the comment. `link` is where the page and the bundle are."""
    for rows, names in ((ROWS_SHOWN, True), (ROWS_SHOWN, False), (10, False), (3, False), (0, False)):
        text = _comment(review, link, rows, names)
        if _length(text) <= LARGEST_COMMENT - ROOM_FOR_LINKS:
            break
    return text


def render_outcome(review: Review) -> str:
    """Return the first line: the mark, and whether it passes. A slowdown within the allowed limits is yellow."""
    outcome = review.gate.outcome
    slower = [result for result in review.comparison if result.verdict == "slower" and not result.accepted]
    mark = "🟡" if outcome == "fine" and slower else _MARKS[outcome]
    within = " The slowdown is within what is allowed." if outcome == "fine" and slower else ""
    if review.gate.not_known:
        count = len(review.gate.not_known)
        within = f" It is not known whether {count} benchmark{'s are' if count > 1 else ' is'} slower than allowed."
    return f"{mark} **{inline(headline(review.comparison))}**{within}"


def render_breaches(review: Review) -> str:
    """Return why the check fails, one line per rule and benchmark, and which rules could not be judged.

    Benchmarks that are slower without a threshold are in bold in the table, and not repeated here.
    """
    listed = [each for each in review.gate.breaches if each.rule not in ("slower", "undecided")]
    lines = [f"- {_title(each.title)}: {_sentence(each.sentence)}" for each in listed[:ROWS_SHOWN]]
    lines += _more(listed)
    lines += [f"- {_sentence(each)}" for each in review.gate.unjudged]
    open_ones = [f"- {_title(each.title)}: {_sentence(each.sentence)}" for each in review.gate.not_known[:ROWS_SHOWN]]
    parts = ["**The check fails because of**\n" + "\n".join(lines)] if lines else []
    parts += ["**Not known**\n" + "\n".join([*open_ones, *_more(review.gate.not_known)])] if open_ones else []
    return "\n\n".join(parts)


def render_how_to_accept(review: Review) -> str:
    """Return the line that accepts the failing benchmarks, ready to be pasted into a commit's message."""
    failing = {each.order_id for each in review.gate.breaches}
    found = (plain_name(each.title) for each in review.comparison.results if each.order_id in failing)
    names = dict.fromkeys(name for name in found if _PASTED.fullmatch(name))
    if not names:
        return ""
    lines = [acceptance_line(name) for name in list(names)[:ACCEPTED_SHOWN]]
    more = ", and so on for each benchmark" if len(names) > ACCEPTED_SHOWN else ""
    said = "If the change is intended, write this into the message of a commit of the branch, with your reason"
    return f"{said}{more}:\n```text\n" + "\n".join(lines) + "\n```"


def render_accepted(results: Iterable[ComparisonResult]) -> str:
    accepted = [each for each in results if each.accepted and is_changed(each)]
    lines = [f"- {_title(each.title)}: {_sentence(each.accepted)}" for each in accepted[:ROWS_SHOWN]]
    lines += _more(accepted)
    return "**Accepted**\n" + "\n".join(lines) if lines else ""


def is_changed(result: ComparisonResult) -> bool:
    return (
        result.verdict in _CHANGED
        or (result.memory is not None and result.memory.has_changed)
        or (result.instructions is not None and result.instructions.has_changed)
        or bool(changed_by_themselves(result.figures))
    )


def _comment(review: Review, link: str, rows: int, names: bool) -> str:
    comparison = review.comparison.titled_by_side()
    changed = [each for each in comparison.by_importance if is_changed(each)]
    rest = [each for each in comparison.by_importance if not is_changed(each)]
    parts = [f"{marker(review.name)}\n{render_outcome(review)}", render_breaches(review) if rows else ""]
    if changed and rows:
        parts.append(_table(changed[:rows], review.gate.breaches))
    if len(changed) > rows:
        parts.append(f"{len(changed) - rows} more changed; the page has them all.")
    parts += [render_accepted(changed), render_how_to_accept(review)] if rows else []
    parts += [f"⚠️ {_sentence(warning)}" for warning in comparison.warnings[:5]]
    if comparison.failures and rows:
        parts.append(folded(f"{len(comparison.failures)} failed", _failures(review)))
    if comparison.skips and rows:
        lines = [f"- {_sentence(line)}" for line in skips_text(review.comparison)]
        parts.append(folded(f"{comparison.skipped} skipped", "\n".join(lines[:10])))
    if rest:
        listed = ", ".join(_title(each.title) for each in rest) if names else "The page has them all."
        parts.append(folded(f"{len(rest)} unchanged", listed))
    parts.append(_foot(review, link))
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(results: Sequence[ComparisonResult], breaches: Sequence[Breach]) -> str:
    failing = {(each.order_id, each.side) for each in breaches}
    return pipe_table(table_of(_COLUMNS, [_row(each, (each.order_id, each.side) in failing) for each in results]))


def _row(result: ComparisonResult, fails: bool) -> Row:
    word = "accepted" if result.accepted else result.judged.words
    cells: dict[str, Cell | Value] = dict.fromkeys(("ratio", "interval", "seconds"), Cell(text="–"))
    if result.judged.has_change:
        base = result.judged.base_seconds
        times = (format_seconds(base, 3), format_seconds(base + result.difference_seconds, 3))
        cells = {"ratio": result.ratio, "interval": result.interval, "seconds": Cell(base, " → ".join(times))}
    return row_of(
        {
            "verdict": Cell(word, mark=Mark.BAD if fails else Mark.NONE),
            "benchmark": result.title,
            **cells,
            "why": _cut(_why(result), LONGEST_SENTENCE),
        }
    )


def _why(result: ComparisonResult) -> str:
    parts = [result.cause.rstrip(".")] if result.cause else []
    parts += [result.memory.sentence] if result.memory is not None and result.memory.has_changed else []
    parts += own_sentences(result.figures)
    return "; ".join(parts)


def _failures(review: Review) -> str:
    failures = review.comparison.titled_by_side().failures
    lines = [f"- {_title(each.title)}: {_sentence(each.message)}" for each in failures[:10]]
    return "\n".join([*lines, *([f"- and {len(failures) - 10} more"] if len(failures) > 10 else [])])


def _foot(review: Review, link: str) -> str:
    comparison = review.comparison
    others = ", ".join(_sentence(name) for name in comparison.names[1:])
    parts = [f"{others} against {_sentence(comparison.base)}"]
    parts.append(f"changes below {comparison.margin_words} count as none")
    if link:
        parts.append(f"[page and bundle]({safe_link(link)})")
    return f"<sub>{' · '.join(parts)}</sub>"


def safe_link(link: str) -> str:
    """Return a web address without characters that would end a Markdown link; empty if it is not a web address."""
    return re.sub(r"[^A-Za-z0-9:/?#&=%._~+,@-]", "", link) if re.match(r"https?://", link) else ""


def _more(listed: Sequence[object]) -> list[str]:
    return [f"- and {len(listed) - ROWS_SHOWN} more"] if len(listed) > ROWS_SHOWN else []


def _title(text: str) -> str:
    return inline(shorten_apart([text], LONGEST_TITLE)[0])


def _sentence(text: str) -> str:
    return inline(_cut(text, LONGEST_SENTENCE))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _length(text: str) -> int:
    """Return the length in UTF-16 code units, the larger of the two ways to count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def render_summary(review: Review, link: str = "") -> str:
    """Return Markdown that fits into a summary; with thousands of benchmarks it is the text of the comment."""
    parts = [f"## photometer\n\n{render_outcome(review)}", render_breaches(review)]
    parts += [render_accepted(review.comparison.by_importance), render_how_to_accept(review)]
    parts.append(f"[Page and bundle]({safe_link(link)})" if link else "")
    # Its first line is the outcome, which is already above.
    parts.append(render_comparison_markdown(review.comparison).partition("\n")[2].strip())
    text = "\n\n".join(part for part in parts if part) + "\n"
    return text if len(text.encode("utf-8", "backslashreplace")) < LARGEST_SUMMARY else render_comment(review, link)
