"""Reviews made by hand, for tests of what a reviewer reads."""

from __future__ import annotations

from typing import Any

from photometer.analysis.cause import InstructionChange
from photometer.analysis.changed_code import ChangedCode
from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult
from photometer.analysis.figure_change import MemoryChange
from photometer.analysis.gate import Gate
from photometer.ci.review import Review
from photometer.model.fail_rules import parse_rules
from photometer.model.memory_measurement import MemoryFigures
from tests.analysis.verdicts import comparison, result

# What a label may hold that Markdown, HTML, XML, workflow commands and OpenMetrics each give a meaning to.
HOSTILE = (
    "<script>alert(1)</script> | [x](https://evil.example) @team `a` *b* #1 ![i](x) --> </details>\n::error::gone\n"
    '%0A::set-output name=a::b \x1b[31m\ud800 "quoted" & \\ {a="b"} 1\n# TYPE x counter'
)


def review(*results: ComparisonResult, fail_on: str = "slower", **changes: Any) -> Review:
    made = comparison(*results, **changes)
    return Review(made, Gate(parse_rules([fail_on])).judge(made), "suite")


def more_instructions(share: float, *code: ChangedCode) -> InstructionChange:
    return InstructionChange(1000.0, 1000.0 * (1.0 + share), 0.0, 0.0, 1, 0.0, (), code)


def memory(word: Any, before: int, after: int) -> MemoryChange:
    return MemoryChange(word, MemoryFigures(before, before, 1, 0), MemoryFigures(after, after, 1, 0))


def everything() -> Review:
    """One benchmark of each kind that a reader is told of, with hostile labels."""
    return review(
        result("slower", 1.1, "add", cause="more instructions", instructions=more_instructions(0.1)),
        result("identical", 1.0, HOSTILE, memory=memory("more", 100, 200)),
        result("undecided", 1.0, "div"),
        failures=(ComparisonFailure("id", HOSTILE, "base", HOSTILE, HOSTILE),),
        not_reached=("sub",),
        fail_on="slower,instructions:1%",
    )


def many_sides() -> Review:
    """Three sides, one of them with a hostile name."""
    return review(
        result("same", title="add", side=1),
        result("slower", 1.1, "add", side=2, instructions=more_instructions(0.1)),
        names=("a", "b", HOSTILE),
        failures=(ComparisonFailure("id", "div", "b", "ValueError", place=1),),
        not_reached=("sub on b",),
    )
