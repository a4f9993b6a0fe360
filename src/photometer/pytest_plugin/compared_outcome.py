"""How pytest reports a compared test: passed, failed or skipped, and why. In: a JudgedTest. Out: a word and a text."""

from __future__ import annotations

import dataclasses
from typing import Literal

from photometer.analysis.comparison_result import ComparisonResult
from photometer.model.visible_text import visible
from photometer.pytest_plugin.paired import JudgedTest
from photometer.report.verdict_text import change_text, detail_lines, duration, interval_text


@dataclasses.dataclass(frozen=True)
class ComparedOutcome:
    word: Literal["passed", "failed", "skipped"]
    text: str | None = None


def outcome_of(judged: JudgedTest, names: tuple[str, str]) -> ComparedOutcome:
    """Return the outcome: failed if it fails or is slower on the branch; skipped if only the base cannot run it."""
    if judged.skipped_because:
        return ComparedOutcome("skipped", visible(judged.skipped_because))
    if judged.failure is not None:
        side = f" on the {judged.failure.side} side" if judged.failure.side else ""
        text = f"failed{side}: {judged.failure.message}\n{judged.failure.log}".strip()
        return ComparedOutcome("failed", visible(text))
    if judged.ended is not None and judged.ended[1].outcome == "failed":
        text = f"failed on the branch side, after it was measured:\n{judged.ended[1].text}"
        return ComparedOutcome("failed", visible(text))
    if judged.result is not None and judged.result.verdict == "slower" and not judged.result.accepted:
        return ComparedOutcome("failed", slower_text(judged.result, names))
    return ComparedOutcome("passed")


def slower_text(result: ComparisonResult, names: tuple[str, str]) -> str:
    """Return the report of a test that has become slower."""
    judged = result.judged
    lines = [
        f"slower by {change_text(result.ratio)} ({interval_text(result.interval)}): {duration(judged.base_seconds)} "
        f"{duration(judged.difference_seconds, signed=True)} per run",
        *detail_lines(result),
        f"base    {names[0]}",
        f"branch  {names[1]}",
    ]
    return visible("\n".join(lines))
