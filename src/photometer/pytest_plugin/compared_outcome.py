"""How pytest reports a compared test: passed, failed or skipped, and why. In: a JudgedTest. Out: a word and a text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from photometer.analysis.comparison_result import SIDE_NAMES, ComparisonResult, side_label
from photometer.analysis.gate import Gate
from photometer.model.units import change, format_difference, format_seconds, span
from photometer.model.visible_text import visible, visible_line
from photometer.pytest_plugin.paired import JudgedTest
from photometer.report.verdict_text import detail_lines


@dataclasses.dataclass(frozen=True)
class ComparedOutcome:
    word: Literal["passed", "failed", "skipped"]
    text: str | None = None


def outcome_of(judged: JudgedTest, names: Sequence[str]) -> ComparedOutcome:
    """Return the outcome: failed if it fails or is slower on a side; skipped if only the base cannot run it."""
    if judged.skipped_because:
        return ComparedOutcome("skipped", visible(judged.skipped_because))
    # The branch's failure is of more interest than the base's.
    for failure in sorted(judged.comparison.failures, key=lambda each: -(each.place or 0)):
        side = f" on the {failure.side} side" if failure.side else ""
        return ComparedOutcome("failed", visible(f"failed{side}: {failure.message}\n{failure.log}".strip()))
    for place, ended in enumerate(judged.ended):
        if place and ended.outcome == "failed":
            text = f"failed on the {side_label(names, place)} side, after it was measured:\n{ended.text}"
            return ComparedOutcome("failed", visible(text))
    breached = {breach.side for breach in Gate().judge(judged.comparison).breaches}
    slower = [result for result in judged.comparison if result.side in breached]
    if slower:
        return ComparedOutcome("failed", "\n".join(slower_text(result, names) for result in slower))
    return ComparedOutcome("passed")


def verdict_lines(judged: JudgedTest, names: Sequence[str]) -> list[str]:
    """Return a line for each side that was judged: the verdict, the change, and the test."""
    lines = []
    for result in judged.comparison:
        size = f" {change(result.ratio)}" if result.judged.verdict in ("slower", "faster") else ""
        side = "" if len(names) == 2 else f" on {names[result.side]}"
        lines.append(visible_line(f"{result.judged.verdict}{size}  {judged.test}{side}"))
    return lines


def slower_text(result: ComparisonResult, names: Sequence[str]) -> str:
    """Return the report of a test that has become slower."""
    judged = result.judged
    labels = SIDE_NAMES if len(names) == 2 else ("base", "side")
    lines = [
        f"slower by {change(result.ratio)} ({span(result.interval)}): {format_seconds(judged.base_seconds, 3)} "
        f"{format_difference(judged.difference_seconds)} per run",
        *detail_lines(result),
        *(f"{label:<7} {names[place]}" for label, place in zip(labels, (0, result.side), strict=True)),
    ]
    return visible("\n".join(lines))
