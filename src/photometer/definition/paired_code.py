"""Python and C++ written next to each other, so that a reader sees that they do the same: as a table, or as blocks.

    Python                      | C++
    --------------------------- | ----------------------------
    z = torch.mm(x, y) + bias   | auto z = torch::mm(x, y) + bias;

A table gives two statements, or one pair per row. Columns may have any width; the bars must be aligned. Comments may
stand anywhere.

A block holds one benchmark per line: `# @label` names the lines that follow, `# @setup` and `// @global_setup` prepare
them. The blocks of the two languages are paired line by line; a blank line or a comment fills the place of a case that
exists in one language only.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator

from photometer.definition.cpp_text import blanked
from photometer.definition.place import definition_error, excerpt
from photometer.definition.timer_args import clean_code
from photometer.model.task import Language

_TABLE_REMEDY = "Head it with `Python | C++`, rule it with `--- | ---`, and align every line's ` | ` below the first."
_COMMENT = {Language.PYTHON: "#", Language.CPP: "//"}
_SETUP_SECTIONS = ("setup", "global_setup")


def parse_stmts(table: str) -> tuple[str, str]:
    """Return the Python and the C++ statement of a table, for GroupedStmts(*parse_stmts(…))."""
    rows = list(_rows(table))
    python = "\n".join(py_line for py_line, _ in rows).rstrip()
    cpp = "\n".join(cpp_line for _, cpp_line in rows).rstrip()
    return clean_code(python, "the Python column"), clean_code(cpp, "the C++ column")


def iter_parsed_lines(table: str) -> Iterator[tuple[str, str]]:
    """Yield the (Python, C++) pair of every line of a table, for a dict of many small benchmarks."""
    for python, cpp in _rows(table):
        pair = _code_in(python, Language.PYTHON), _code_in(cpp, Language.CPP)
        if any(pair):
            yield pair


def _rows(table: str) -> Iterator[tuple[str, str]]:
    text = clean_code(table, "the table")
    lines = text.splitlines()
    if len(lines) < 3:
        raise definition_error("the table has no line of code", shown=text, remedy=_TABLE_REMEDY)
    bar = lines[0].find("|")
    if bar < 0 or lines[0][:bar].strip() != "Python" or lines[0][bar + 1 :].strip() != "C++":
        raise definition_error("the table's head is not `Python | C++`", shown=excerpt(text, 0), remedy=_TABLE_REMEDY)
    if not re.fullmatch(r"-+\s*\|\s*-+", lines[1].strip()) or lines[1].find("|") != bar:
        shown = excerpt(text, 1, bar)
        raise definition_error("the table's second line is not a rule", shown=shown, remedy=_TABLE_REMEDY)
    for number, line in enumerate(lines[2:], start=2):
        if not line.strip():
            continue
        # There must be spaces beside the bar: otherwise it is an operator (a | b) that is in this column by chance.
        if line[bar : bar + 1] != "|" or line[bar - 1] != " " or line[bar + 1 : bar + 2] not in ("", " "):
            shown = excerpt(text, number, bar)
            raise definition_error("the bar is not below the table's bar", shown=shown, remedy=_TABLE_REMEDY)
        yield line[:bar].rstrip(), line[bar + 2 :].rstrip()


@dataclasses.dataclass(frozen=True)
class VariantBlock:
    """The content of one language's block. The label "" holds the lines above the first label."""

    setup: str
    global_setup: str
    cases: dict[str, list[str]]


@dataclasses.dataclass(frozen=True)
class Case:
    """One line of the blocks, in the languages that have it."""

    label: tuple[str, ...]
    py_stmt: str | None
    cpp_stmt: str | None


def parse_block(block: str, language: Language) -> VariantBlock:
    sections: dict[str, list[str]] = {"": []}
    label = ""
    lines = block.split("\n")
    bare_lines = blanked(block).split("\n") if language is Language.CPP else lines
    for number, (line, bare) in enumerate(zip(lines, bare_lines, strict=True)):
        marker = re.fullmatch(rf"\s*{_COMMENT[language]}\s*@\s*(.*?)\s*", line)
        if marker is not None:
            label = _section_name(marker.group(1))
            _check_section(label, sections, language, excerpt(block, number, line.index("@"), len(label) + 1))
            sections[label] = []
        elif label in _SETUP_SECTIONS:
            sections[label].append(line)
        else:
            sections[label].append(_case(line if bare.strip() else "", number, block, language))
    setup, global_setup = ("\n".join(sections.pop(name, [])) for name in _SETUP_SECTIONS)
    return VariantBlock(setup, global_setup, sections)


def paired_cases(python: VariantBlock, cpp: VariantBlock) -> list[Case]:
    """Pair the lines under each label; labels in the order of the Python block, then those that only C++ has."""
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
        raise definition_error("the blocks have no line of code", remedy="Write one benchmark per line.")
    return cases


def _section_name(text: str) -> str:
    """Return the section's name: `setup` and `global setup` may be written in any case, with a space or underscore."""
    folded = text.lower().replace(" ", "_")
    return folded if folded in _SETUP_SECTIONS else text


def _check_section(label: str, sections: dict[str, list[str]], language: Language, shown: str) -> None:
    if not label:
        remedy = f"Write `{_COMMENT[language]} @name`."
        raise definition_error("a label without a name", shown=shown, remedy=remedy)
    if label in sections:
        raise definition_error(
            f"the label {label!r} appears twice", shown=shown, remedy="Use each label once per block."
        )
    if label == "global_setup" and language is Language.PYTHON:
        raise definition_error(
            "Python has no global_setup",
            shown=shown,
            remedy="Use `# @setup`; `// @global_setup` is for C++ at file scope.",
        )


def _code_in(cell: str, language: Language) -> str:
    """Return the text of a cell; empty if it is only a comment."""
    bare = blanked(cell) if language is Language.CPP else re.sub(r"^\s*#.*", "", cell)
    return cell.strip() if bare.strip() else ""


def _case(line: str, number: int, block: str, language: Language) -> str:
    """Return the line without its indentation; empty for a comment. A line of Python must be a complete statement."""
    code = _code_in(line, language)
    if language is Language.PYTHON and code:
        try:
            compile(code, "<case>", "exec")
        except SyntaxError as error:
            column = len(line) - len(line.lstrip()) + (error.offset or 1) - 1
            raise definition_error(
                f"a line of py_block is not Python: {error.msg}",
                shown=excerpt(block, number, column),
                remedy="Each line is a separate benchmark; join a statement's lines with ; or use GroupedStmts.",
            ) from None
    return code
