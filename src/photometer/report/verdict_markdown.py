"""A comparison of two environments as Markdown for a pull request: the verdict in the first line, details folded."""

from __future__ import annotations

from collections.abc import Sequence

from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.verdict_reason import percent
from photometer.report.escape import markdown_text
from photometer.report.verdict_table import (
    change_text,
    detail_lines,
    detectable_text,
    duration,
    headline,
    interval_text,
)

_MARKS = {"slower": "🔴", "failed": "🔴", "undecided": "🟡", "fine": "🟢", "nothing": "⚪"}
# What a reader of a pull request must see; the rest is folded.
_SHOWN = ("slower", "faster", "undecided")


def render_verdicts_markdown(comparison: EnvironmentComparison) -> str:
    parts = [f"{_MARKS[comparison.outcome]} **{_inline(headline(comparison))}**"]
    parts.append(f"Base: {_inline(comparison.base)}<br>\nBranch: {_inline(comparison.branch)}")
    parts += [f"- ⚠️ {_inline(warning)}" for warning in comparison.warnings]
    shown = [result for result in comparison.by_importance if result.verdict in _SHOWN]
    same = [result for result in comparison.by_importance if result.verdict not in _SHOWN]
    if shown:
        parts.append(_table(shown))
    if same:
        parts.append(_folded(f"{len(same)} same", _table(same)))
    details = _details(comparison.by_importance)
    if details:
        parts.append(_folded("Causes and notes", details))
    if comparison.failures or comparison.not_reached:
        parts.append(_folded("Without a verdict", _without_verdict(comparison)))
    if comparison.results:
        parts.append(
            f"<sub>Margin {percent(comparison.margin)}. At most {percent(comparison.false_discovery_rate)} of the "
            "verdicts slower and faster are false, on average.</sub>"
        )
    return "\n\n".join(parts) + "\n"


def _table(results: Sequence[ComparisonResult]) -> str:
    lines = [
        "| verdict | change | interval | base | difference | could see | benchmark |",
        "| :--- | ---: | ---: | ---: | ---: | ---: | :--- |",
    ]
    for result in results:
        cells = (
            f"**{result.verdict}**" if result.verdict == "slower" else result.verdict,
            change_text(result.ratio),
            interval_text(result.interval),
            duration(result.judged.base_seconds),
            duration(result.difference_seconds, signed=True),
            detectable_text(result.judged),
            markdown_text(result.title),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _details(results: Sequence[ComparisonResult]) -> str:
    lines = []
    for result in results:
        told = detail_lines(result)
        if told:
            lines.append(f"- {_inline(result.title)}")
            lines += [f"  - {_inline(line)}" for line in told]
    return "\n".join(lines)


def _without_verdict(comparison: EnvironmentComparison) -> str:
    lines = []
    for failure in comparison.failures:
        side = f" on the {failure.side} side" if failure.side else ""
        lines.append(f"- failed{_inline(side)}: {_inline(failure.title)}: {_inline(failure.message)}")
    lines += [f"- not reached within the budget: {_inline(title)}" for title in comparison.not_reached]
    return "\n".join(lines)


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{_inline(summary)}</summary>\n\n{content}\n\n</details>"


def _inline(text: str) -> str:
    return markdown_text(text).replace("<br>", " ")
