"""What a reviewer reads on a pull request: the verdict, what changed and why, the rest folded. GitHub Markdown.

In: a Review. Out: a text below the size of a comment, however many benchmarks there are. Text from elsewhere
(labels, causes, reasons) is escaped. The first line is an invisible marker by which the comment is found again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from photometer.analysis.comparison_result import ComparisonResult
from photometer.ci.gate import Breach
from photometer.ci.review import Review
from photometer.report.escape import markdown_text
from photometer.report.verdict_text import change_text, duration, headline, interval_text

# GitHub refuses a body of more than 65,536 characters. It counts some characters as two, as UTF-16 does; a link may
# still be added.
LARGEST_COMMENT = 65_536
ROOM_FOR_LINKS = 2_048
# A reviewer reads ten rows, not five hundred; the page has them all.
ROWS_SHOWN = 30
LONGEST_TITLE = 120
LONGEST_SENTENCE = 400
_MARKS = {"slower": "🔴", "failed": "🔴", "undecided": "🟡", "fine": "🟢", "nothing": "⚪"}
_CHANGED = ("slower", "undecided", "faster")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9 ._-]")


def marker(name: str) -> str:
    """Return the line by which a comment is found again; `name` keeps the comments of two suites apart."""
    return f"<!-- photometer-comment {_NOT_IN_NAMES.sub('', name)[:80].strip().replace('--', '-')} -->"


def render_comment(review: Review, link: str = "") -> str:
    """Return the comment. `link` is where the page and the bundle are."""
    for rows, names in ((ROWS_SHOWN, True), (ROWS_SHOWN, False), (10, False), (3, False), (0, False)):
        text = _comment(review, link, rows, names)
        if _length(text) <= LARGEST_COMMENT - ROOM_FOR_LINKS:
            break
    return text


def render_outcome(review: Review) -> str:
    """Return the first line: the mark, and whether it passes. Slower by no more than is allowed is yellow."""
    outcome = review.gate.outcome
    slower = [result for result in review.comparison if result.verdict == "slower" and not result.accepted]
    mark = "🟡" if outcome == "fine" and slower else _MARKS[outcome]
    within = " The slowdown is within what is allowed." if outcome == "fine" and slower else ""
    return f"{mark} **{_inline(headline(review.comparison))}**{within}"


def render_breaches(review: Review) -> str:
    """Return why the check fails, one line per rule and benchmark, and what could not be judged.

    Benchmarks that are slower without a threshold are in bold in the table, and not repeated here.
    """
    listed = [each for each in review.gate.breaches if each.rule not in ("slower", "undecided")]
    lines = [f"- {_title(each.title)}: {_sentence(each.sentence)}" for each in listed[:ROWS_SHOWN]]
    lines += _more(listed)
    lines += [f"- {_sentence(each)}" for each in review.gate.unjudged]
    return "**The check fails because of**\n" + "\n".join(lines) if lines else ""


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
    )


def _comment(review: Review, link: str, rows: int, names: bool) -> str:
    comparison = review.comparison
    changed = [each for each in comparison.by_importance if is_changed(each)]
    rest = [each for each in comparison.by_importance if not is_changed(each)]
    parts = [f"{marker(review.name)}\n{render_outcome(review)}", render_breaches(review) if rows else ""]
    if changed and rows:
        parts.append(_table(changed[:rows], review.gate.breaches))
    if len(changed) > rows:
        parts.append(f"{len(changed) - rows} more changed; the page has them all.")
    parts.append(render_accepted(changed) if rows else "")
    parts += [f"⚠️ {_sentence(warning)}" for warning in comparison.warnings[:5]]
    if comparison.failures and rows:
        parts.append(_folded(f"{len(comparison.failures)} failed", _failures(review)))
    if rest:
        listed = ", ".join(_title(each.title) for each in rest) if names else "The page has them all."
        parts.append(_folded(f"{len(rest)} unchanged", listed))
    parts.append(_foot(review, link))
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(results: Sequence[ComparisonResult], breaches: Sequence[Breach]) -> str:
    failing = {each.order_id for each in breaches}
    lines = ["| | benchmark | change | interval | time | why |", "| :--- | :--- | ---: | ---: | ---: | :--- |"]
    for result in results:
        word = "accepted" if result.accepted else result.verdict
        figures = ("–", "–", "–")
        if result.judged.replicates:
            times = f"{duration(result.judged.base_seconds)} → "
            times += duration(result.judged.base_seconds + result.difference_seconds)
            figures = (change_text(result.ratio), interval_text(result.interval), times)
        cells = (f"**{word}**" if result.order_id in failing else word, _title(result.title), *figures, _why(result))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _why(result: ComparisonResult) -> str:
    parts = [result.cause.rstrip(".")] if result.cause else []
    parts += [result.memory.sentence] if result.memory is not None and result.memory.has_changed else []
    return _sentence("; ".join(parts))


def _failures(review: Review) -> str:
    failures = review.comparison.failures
    lines = [f"- {_title(each.title)}: {_sentence(each.message)}" for each in failures[:10]]
    return "\n".join([*lines, *([f"- and {len(failures) - 10} more"] if len(failures) > 10 else [])])


def _foot(review: Review, link: str) -> str:
    comparison = review.comparison
    parts = [f"{_sentence(comparison.branch)} against {_sentence(comparison.base)}"]
    parts.append(f"changes below {comparison.margin_words} count as none")
    if link:
        parts.append(f"[page and bundle]({safe_link(link)})")
    return f"<sub>{' · '.join(parts)}</sub>"


def safe_link(link: str) -> str:
    """Return a web address without characters that would end a Markdown link; empty if it is not a web address."""
    return re.sub(r"[^A-Za-z0-9:/?#&=%._~+,@-]", "", link) if re.match(r"https?://", link) else ""


def _more(listed: Sequence[object]) -> list[str]:
    return [f"- and {len(listed) - ROWS_SHOWN} more"] if len(listed) > ROWS_SHOWN else []


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _title(text: str) -> str:
    return _inline(_cut(text, LONGEST_TITLE))


def _sentence(text: str) -> str:
    return _inline(_cut(text, LONGEST_SENTENCE))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _inline(text: str) -> str:
    return markdown_text(text).replace("<br>", " ")


def _length(text: str) -> int:
    """Return the length in UTF-16 code units, the larger of the two ways to count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
