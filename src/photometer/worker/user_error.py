"""Describe an exception of the user's code to the user, without the frames of photometer around it."""

from __future__ import annotations

import contextlib
import functools
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_PACKAGE = __file__.rpartition("/worker/")[0]
# What `describe_exception` calls unittest.SkipTest, classes derived from it, and what pytest.skip raises.
SKIP_TEST = "SkipTest"
# What the syntax errors of the user's texts name as their files.
TEXTS = ("<stmt>", "<setup>")

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def hiding_our_frames(call: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Make exceptions of the user's code come with the user's frames alone, and errors in a text with none."""

    @functools.wraps(call)
    def called(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        # IPython and pytest leave this frame out, too.
        __tracebackhide__ = True
        try:
            return call(*args, **kwargs)
        except Exception as error:
            raise error.with_traceback(_users_frames(error))  # noqa: B904 - it is the same error, with its context

    return called


def _users_frames(error: Exception) -> types.TracebackType | None:
    """Return the traceback from the user's first frame on; the whole one if our own code raised the error."""
    if is_in_a_text(error):
        return None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [frame.f_code.co_filename.startswith(_PACKAGE) for frame in frames]
    if not frames or ours[-1]:
        return error.__traceback__
    part = error.__traceback__
    while part is not None and _is_machinery(part.tb_frame.f_code.co_filename):
        part = part.tb_next
    return part


def _is_machinery(file: str) -> bool:
    """Return whether frames of this file lie between the call of photometer and the user's code."""
    return file.startswith(_PACKAGE) or file == contextlib.__file__


def is_in_a_text(error: BaseException) -> bool:
    """Return whether Python could not compile a statement or a set-up; the error itself shows the user's line."""
    return isinstance(error, SyntaxError) and error.filename in TEXTS


def describe_exception(error: BaseException) -> dict[str, Any]:
    """Return type, message and traceback as text; the traceback starts where the user's code does."""
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
    # The set-up runs when the loop's context is entered: these frames are before the user's.
    while users and users[0].filename == contextlib.__file__:
        del users[0]
    lines = ["Traceback (most recent call last):\n"] if users else []
    lines += traceback.format_list(users)
    lines += traceback.format_exception_only(type(error), error)
    if isinstance(error, ModuleNotFoundError):
        lines.append(searched_folders(sys.path) + "\n")
    name = SKIP_TEST if _is_skip(error) else type(error).__name__
    return {"type": name, "message": message_of(error), "traceback": "".join(lines)}


def _is_skip(error: BaseException) -> bool:
    """Return whether it is a unittest.SkipTest, or what pytest.skip raises; the module of either is then imported."""
    unittest, pytest = sys.modules.get("unittest.case"), sys.modules.get("_pytest.outcomes")
    if unittest is not None and isinstance(error, unittest.SkipTest):
        return True
    return pytest is not None and isinstance(error, pytest.Skipped)


def searched_folders(path: list[str]) -> str:
    """Return the folders in which a module was looked for, and how to add one."""
    # Not the interpreter's own zip file, which is seldom there.
    folders = [entry or "." for entry in path if not entry.endswith(".zip")]
    return (
        f"searched in: {', '.join(folders)}\n"
        "Start photometer in the folder that the module is in, or add its folder: PYTHONPATH=DIR photometer …"
    )


def message_of(error: BaseException) -> str:
    """Return the exception's text, or a note if its class, which may be the user's, cannot give it."""
    try:
        return str(error)
    except Exception as failure:
        return f"(its message cannot be shown: {type(failure).__name__} in __str__)"


def name_the_line(error: BaseException, source_name: str) -> None:
    """Add the failing line of the snippet as a note.

    Python before 3.13 prints an uncaught traceback without asking linecache, so the line would be missing there.
    """
    if sys.version_info >= (3, 13) or not hasattr(error, "add_note"):
        return
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == source_name and frame.line:
            note = f"in the statement measured: {frame.line}"
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            return
