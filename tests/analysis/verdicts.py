"""Verdicts and comparisons made by hand, for tests of what is said about them."""

from __future__ import annotations

from typing import Any

from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.verdict import DetectableChange, Verdict, VerdictWord


def verdict(word: VerdictWord, ratio: float = 1.0, **changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "verdict": word,
        "ratio": ratio,
        "interval": (ratio - 0.002, ratio + 0.002),
        "difference_seconds": 1e-6 * (ratio - 1.0),
        "difference_interval_seconds": (1e-6 * (ratio - 1.002), 1e-6 * (ratio - 0.998)),
        "base_seconds": 1e-6,
        "p": 1e-4,
        "log_evidence": 9.0,
        "replicates": 12,
        "margin": 0.003,
        "confidence": 0.95,
        "false_alarm": 0.0025,
        "paired": True,
        "detectable": DetectableChange(0.004, 0.0035, 0.003),
        "reason": f"because it is {word}",
    }
    return Verdict(**{**fields, **changes})


def result(word: VerdictWord, ratio: float = 1.0, title: str = "add", **changes: Any) -> ComparisonResult:
    return ComparisonResult(f"id of {title}", title, verdict(word, ratio), **changes)


def comparison(*results: ComparisonResult, **changes: Any) -> EnvironmentComparison:
    fields: dict[str, Any] = {
        "names": ("git:main (abc)", "git:WORKTREE (def)"),
        "margin": 0.003,
        "false_discovery_rate": 0.05,
        "measuring_seconds": 12.5,
    }
    return EnvironmentComparison(suite="suite", results=results, **{**fields, **changes})
