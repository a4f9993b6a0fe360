"""Tables of `Python | C++`: the two languages beside each other, so that a reader sees that they do the same.

    Python                      | C++
    --------------------------- | ----------------------------
    z = torch.mm(x, y) + bias   | auto z = torch::mm(x, y) + bias;

In comes the table, out come the two statements, or its rows. Columns may have any width; the bars must be aligned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from photometer.definition.place import definition_error, excerpt
from photometer.definition.timer_args import clean_code

_REMEDY = "Head it with `Python | C++`, rule it with `--- | ---`, and align every line's ` | ` below the first."


def parse_stmts(table: str) -> tuple[str, str]:
    """The Python and the C++ statement of a table, to be given to GroupedStmts as `*parse_stmts(…)`."""
    rows = list(_rows(table))
    python = "\n".join(py_line for py_line, _ in rows).rstrip()
    cpp = "\n".join(cpp_line for _, cpp_line in rows).rstrip()
    return clean_code(python, "the Python column"), clean_code(cpp, "the C++ column")


def iter_parsed_lines(table: str) -> Iterator[tuple[str, str]]:
    """The (Python, C++) pair of every line of a table: for a dict of many small benchmarks."""
    for python, cpp in _rows(table):
        if python.strip() or cpp.strip():
            yield python.strip(), cpp.strip()


def _rows(table: str) -> Iterator[tuple[str, str]]:
    text = clean_code(table, "the table")
    lines = text.splitlines()
    if len(lines) < 3:
        raise definition_error("the table has no line of code", shown=text, remedy=_REMEDY)
    bar = lines[0].find("|")
    if bar < 0 or lines[0][:bar].strip() != "Python" or lines[0][bar + 1 :].strip() != "C++":
        raise definition_error("the table's head is not `Python | C++`", shown=excerpt(text, 0), remedy=_REMEDY)
    if not re.fullmatch(r"-+\s*\|\s*-+", lines[1].strip()) or lines[1].find("|") != bar:
        raise definition_error("the table's second line is not a rule", shown=excerpt(text, 1, bar), remedy=_REMEDY)
    for number, line in enumerate(lines[2:], start=2):
        if not line.strip():
            continue
        # Beside the bar must be spaces: otherwise it is an operator (a | b) at the same column by chance.
        if line[bar : bar + 1] != "|" or line[bar - 1] != " " or line[bar + 1 : bar + 2] not in ("", " "):
            raise definition_error(
                "the bar is not below the table's bar", shown=excerpt(text, number, bar), remedy=_REMEDY
            )
        yield line[:bar].rstrip(), line[bar + 2 :].rstrip()
