"""A block of code with a benchmark a line: `# @label` names what follows, `# @setup` and `// @global_setup` prepare it.

In comes one block in one language, out come its set-up and its lines by label; then two blocks are paired line by line.
A blank line or a comment holds a place, so that a case may exist in one language only.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import NamedTuple

from photometer.definition.place import definition_error, excerpt
from photometer.model.language import Language

_COMMENT = {Language.PYTHON: "#", Language.CPP: "//"}
_SETUP_SECTIONS = ("setup", "global_setup")


@dataclasses.dataclass(frozen=True)
class VariantBlock:
    """What one language's block says. The label "" holds lines above the first label."""

    setup: str
    global_setup: str
    cases: dict[str, list[str]]


class Case(NamedTuple):
    """One line of the blocks, in the languages that have it."""

    label: tuple[str, ...]
    py_stmt: str | None
    cpp_stmt: str | None


def parse_block(block: str, language: Language) -> VariantBlock:
    sections: dict[str, list[str]] = {"": []}
    label = ""
    for number, line in enumerate(block.splitlines()):
        marker = re.fullmatch(rf"\s*{_COMMENT[language]}\s*@\s*(.*?)\s*", line)
        if marker is not None:
            label = _section_name(marker.group(1))
            _check_section(label, sections, language, excerpt(block, number, line.index("@"), len(label) + 1))
            sections[label] = []
        elif label in _SETUP_SECTIONS:
            sections[label].append(line)
        else:
            sections[label].append(_case(line, number, block, language))
    setup, global_setup = ("\n".join(sections.pop(name, [])) for name in _SETUP_SECTIONS)
    return VariantBlock(setup, global_setup, sections)


def paired_cases(python: VariantBlock, cpp: VariantBlock) -> list[Case]:
    """Line by line under each label; labels in the order of the Python block, then those that only C++ has."""
    cases: list[Case] = []
    for label in dict.fromkeys([*python.cases, *cpp.cases]):
        rows = itertools.zip_longest(python.cases.get(label, []), cpp.cases.get(label, []), fillvalue="")
        lines = [(py_stmt, cpp_stmt) for py_stmt, cpp_stmt in rows if py_stmt or cpp_stmt]
        if not lines and label:
            raise definition_error(
                f"the label {label!r} has no line of code", remedy="Add a line below it, or drop it."
            )
        for number, (py_stmt, cpp_stmt) in enumerate(lines):
            case = (f"case {number}",) if len(lines) > 1 else ()
            cases.append(Case((label, *case) if label else case, py_stmt or None, cpp_stmt or None))
    if not cases:
        raise definition_error("the blocks have no line of code", remedy="Write one benchmark a line.")
    return cases


def _section_name(text: str) -> str:
    """`setup` and `global setup` may be written in any case, with a space or an underscore."""
    folded = text.lower().replace(" ", "_")
    return folded if folded in _SETUP_SECTIONS else text


def _check_section(label: str, sections: dict[str, list[str]], language: Language, shown: str) -> None:
    if not label:
        remedy = f"Write `{_COMMENT[language]} @name`."
        raise definition_error("a label without a name", shown=shown, remedy=remedy)
    if label in sections:
        raise definition_error(
            f"the label {label!r} is there twice", shown=shown, remedy="Give each label one place in a block."
        )
    if label == "global_setup" and language is Language.PYTHON:
        raise definition_error(
            "Python has no global_setup",
            shown=shown,
            remedy="Use `# @setup`; `// @global_setup` is for C++ at file scope.",
        )


def _case(line: str, number: int, block: str, language: Language) -> str:
    """The line without its indentation; empty for a comment. A line of Python must be complete in itself."""
    code = line.strip()
    if code.startswith(_COMMENT[language]):
        return ""
    if language is Language.PYTHON and code:
        try:
            compile(code, "<case>", "exec")
        except SyntaxError as error:
            column = len(line) - len(line.lstrip()) + (error.offset or 1) - 1
            raise definition_error(
                f"a line of py_block is not Python: {error.msg}",
                shown=excerpt(block, number, column),
                remedy="Each line is a benchmark of its own; join a statement's lines with ; or use GroupedStmts.",
            ) from None
    return code
