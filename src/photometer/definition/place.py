"""Where a mistake is: an excerpt of the author's text with a caret, and the file and line of the defining call.

In comes a text with a line and a column (both from 0); out comes the text that a DefinitionError shows.
"""

from __future__ import annotations

import sys
from pathlib import Path

from photometer.errors import DefinitionError

# Two lines on either side are enough to recognise the place, and quick to read.
_CONTEXT_LINES = 2
_OWN_FOLDER = str(Path(__file__).parent)
# What is typed as an option has no file.
_COMMAND_FOLDER = str(Path(__file__).parent.parent / "cli")


def excerpt(text: str, line: int, column: int = 0, width: int = 1) -> str:
    """Return the line with its neighbours and line numbers, and carets below `width` characters from `column` on."""
    lines = text.splitlines() or [""]
    line = min(max(line, 0), len(lines) - 1)
    shown = range(max(0, line - _CONTEXT_LINES), min(len(lines), line + _CONTEXT_LINES + 1))
    margin = len(str(shown[-1] + 1))
    rows = []
    for number in shown:
        rows.append(f"  {number + 1:>{margin}} | {lines[number]}".rstrip())
        if number == line:
            rows.append(f"  {'':>{margin}} | {' ' * column}{'^' * max(1, width)}")
    return "\n".join(rows)


def excerpt_of(text: str, needle: str) -> str:
    """Return the excerpt around the first occurrence of `needle`, or of the beginning if it does not occur."""
    offset = max(0, text.find(needle))
    line = text.count("\n", 0, offset)
    column = offset - (text.rfind("\n", 0, offset) + 1)
    return excerpt(text, line, column, len(needle))


def caller_place() -> str:
    """Return `file.py:line` of the nearest caller outside this folder, where the author wrote the definition.

    Return nothing if that is the command: a mistake in an option is in no file.
    """
    frame = sys._getframe(1)
    # "<string>" is the constructor that dataclasses generate.
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_OWN_FOLDER, "<string>")):
        frame = frame.f_back
    if frame.f_code.co_filename.startswith(_COMMAND_FOLDER):
        return ""
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def definition_error(
    message: str, *, shown: str | None = None, remedy: str, place: str | None = None
) -> DefinitionError:
    """Return a DefinitionError that names the file and line, shows the excerpt and ends with the remedy."""
    place = place or caller_place()
    return DefinitionError(f"{place}: {message}" if place else message, log=shown, remedy=remedy)
