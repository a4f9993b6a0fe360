"""All printing of the command. It escapes text from users, and handles streams that fail.

`show_text` is for lines with text from users, `show_rendered` for text that a renderer of report/ has already escaped
(it may have colours), `complain` for the error channel. Inside `safe_streams`, a reader that has gone away
(`| head -1`) or a closed stream (`>&-`) does not end the command, and a full disk gives an error message.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO, cast

from photometer.errors import PhotometerError
from photometer.model.visible_text import visible
from photometer.report.escape import encodable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


# What a URL has between its user and its host; of `//`, a Path keeps one.
_PASSWORD = re.compile(r"(?<=:/)(/?[^\s/@:]*:)[^\s/@]+(?=@)")
# An option of a URL whose value is secret.
_SECRET_OPTION = re.compile(r"([?&][^\s=&]*(?:pass|secret|token|key)[^\s=&]*=)[^\s&'\"]+", re.IGNORECASE)


def on_screen(text: str, stream: TextIO | None = None) -> str:
    """Return text of a user as this stream (else the error channel) can show it.

    It cannot act on the screen, and the password of a URL is hidden.
    """
    shown = _SECRET_OPTION.sub(r"\1***", _PASSWORD.sub(r"\1***", visible(text)))
    return encodable(shown, getattr(stream or sys.stderr, "encoding", None))


def terminal_width() -> int:
    """Return the width of the screen; a hundred columns for a pipe."""
    return shutil.get_terminal_size((100, 24)).columns


def show_text(text: str) -> None:
    """Print lines that contain text of users."""
    show_rendered(visible(text) + "\n")


def show_rendered(text: str) -> None:
    """Print a renderer's text, with its line ends; it is already escaped and may have colours."""
    sys.stdout.write(encodable(text, sys.stdout.encoding))
    # More may take a while, and whoever reads through a pipe waits for this.
    sys.stdout.flush()


def complain(text: str) -> None:
    """Print a message for the user on the error channel."""
    say_aside(f"photometer: {text}")


def say_progress(text: str, *, is_last: bool) -> None:
    """Overwrite the current line of a terminal's error channel."""
    sys.stderr.write("\r" + on_screen(text) + ("\n" if is_last else ""))
    sys.stderr.flush()


def say_aside(text: str) -> None:
    """Print lines on the error channel, where they do not mix with results."""
    sys.stderr.write(on_screen(text) + "\n")
    sys.stderr.flush()


@contextlib.contextmanager
def safe_streams() -> Iterator[None]:
    """Replace the standard streams by ones that cannot end the command halfway."""
    _open_closed_descriptors()
    before = sys.stdout, sys.stderr
    # In a test or a notebook, others have replaced them already.
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        sys.stdout = _text_stream(sys.stdout, _ResultStream(1, "w", closefd=False))
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _text_stream(sys.stderr, _AsideStream(2, "w", closefd=False))
    try:
        yield
        sys.stdout.flush()
    finally:
        for stream in (sys.stdout, sys.stderr):
            # What an error left in the buffer goes nowhere: its descriptor leads to /dev/null by now.
            stream.flush()
        sys.stdout, sys.stderr = before


def _open_closed_descriptors() -> None:
    """Open /dev/null where a standard descriptor is closed, so that no later file gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one: those below are open.
            os.open(os.devnull, os.O_RDWR)


def _text_stream(before: TextIO | None, raw: io.RawIOBase) -> TextIO:
    encoding = getattr(before, "encoding", None) or "utf-8"
    line_buffering = bool(getattr(before, "line_buffering", True))
    # What the encoding does not have is spelled out, whoever prints it.
    return cast(
        TextIO, io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=line_buffering)
    )


class _ResultStream(io.FileIO):
    """Standard output: after a closed pipe, output is discarded; any other fault is reported once."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            _lead_nowhere(self.fileno())
            return len(memoryview(data))
        except OSError as error:
            _lead_nowhere(self.fileno())
            raise PhotometerError(
                f"the output cannot be written: {error.strerror or error}",
                remedy="Free some space, or send the output elsewhere. Results that are in a file are kept.",
            ) from error


class _AsideStream(io.FileIO):
    """Standard error: after a fault, which cannot be reported anywhere, output is discarded."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            _lead_nowhere(self.fileno())
            return len(memoryview(data))


def _lead_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
