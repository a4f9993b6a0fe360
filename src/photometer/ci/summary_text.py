"""The summary of a job on GitHub: the outcome and what fails, then all verdicts as in comparison.md."""

from __future__ import annotations

from photometer.ci.comment_text import render_accepted, render_breaches, render_comment, render_outcome, safe_link
from photometer.ci.github_run import LARGEST_SUMMARY
from photometer.ci.review import Review
from photometer.report.verdict_text import render_verdicts_markdown


def render_summary(review: Review, link: str = "") -> str:
    """Return Markdown that fits into a summary; with thousands of benchmarks it is the text of the comment."""
    parts = [f"## photometer\n\n{render_outcome(review)}", render_breaches(review)]
    parts.append(render_accepted(review.comparison.by_importance))
    parts.append(f"[Page and bundle]({safe_link(link)})" if link else "")
    # Its first line is the outcome, which is already above.
    parts.append(render_verdicts_markdown(review.comparison).partition("\n")[2].strip())
    text = "\n\n".join(part for part in parts if part) + "\n"
    return text if len(text.encode("utf-8", "backslashreplace")) < LARGEST_SUMMARY else render_comment(review, link)
