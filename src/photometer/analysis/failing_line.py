"""Which line of the user's code raised, from the traceback in the log of a failure.

In: the text that worker/user_error.py made. Out: the line, with its number and file if it is in one of the user's
files.
"""

from __future__ import annotations

import re

_FRAME = re.compile(
    r'^  File "(?P<file>[^"\n]+)", line (?P<number>\d+)(?:, in .*)?\n(?:    (?P<line>.*\S).*$)?', re.MULTILINE
)
# Snippets have no file: they are compiled under names such as <photometer snippet 1> and <stmt>.
_IN_SNIPPET = re.compile(r"<(?:photometer|stmt|setup|statement|snippet)[^>]*>")
# Code that the user did not write: the standard library, installed packages, what Python itself makes up.
_NOT_THE_USERS = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python\d|^<")
# Python's report of a crash has its reason and the innermost frames first; the frames at its end are pytest's or ours.
_CRASH = re.compile(r"^Fatal Python error: .*", re.MULTILINE)
# A statement may be one line of a thousand characters.
LONGEST_LINE = 120


def failing_line(log: str) -> str:
    """Return the last line of the traceback that is in the user's code; empty if the log has no traceback."""
    frames = [frame for frame in _FRAME.finditer(log) if frame["line"]]
    for frame in reversed(frames):
        if _IN_SNIPPET.match(frame["file"]):
            return _shortened(frame["line"])
        if not _NOT_THE_USERS.search(frame["file"]):
            name = frame["file"].rpartition("/")[2]
            return f"{name}:{frame['number']}: {_shortened(frame['line'])}"
    return ""


def telling_lines(log: str, most: int) -> list[str]:
    """Return the lines of a log that name the error: the last ones, or the start of Python's report of a crash."""
    crashes = list(_CRASH.finditer(log))
    if crashes:
        return [line for line in log[crashes[-1].start() :].splitlines() if line.strip()][:most]
    return log.strip().splitlines()[-most:]


def with_failing_line(message: str, log: str) -> str:
    """Return the message of a failure and, in the same line, the line of the user's code that raised."""
    line = failing_line(log)
    return f"{message}, in: {line}" if line else message


def _shortened(line: str) -> str:
    stripped = line.strip()
    return stripped if len(stripped) <= LONGEST_LINE else stripped[: LONGEST_LINE - 1] + "…"
