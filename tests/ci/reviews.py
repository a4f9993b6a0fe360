"""Reviews made by hand, for tests of what a reviewer reads."""

from __future__ import annotations

from typing import Any

from photometer.analysis.cause import InstructionChange
from photometer.analysis.changed_code import ChangedCode
from photometer.analysis.comparison_result import ComparisonResult
from photometer.analysis.memory_change import MemoryChange
from photometer.ci.gate import Gate
from photometer.ci.review import Review
from photometer.model.fail_rules import parse_rules
from photometer.model.memory_measurement import MemoryFigures
from tests.analysis.verdicts import comparison

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
