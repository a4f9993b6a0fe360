"""Remarks: what a user should know of how servers were started: warnings, unless the command prints them itself."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator

Hear = Callable[[str], object]


def _warn(text: str) -> None:
    warnings.warn(f"photometer: {text}", stacklevel=3)


_hear: Hear = _warn


def remark(text: str) -> None:
    _hear(text)


@contextlib.contextmanager
def hearing(hear: Hear) -> Iterator[None]:
    """Pass remarks to `hear` during the block, each of them once."""
    global _hear
    heard: set[str] = set()

    def once(text: str) -> None:
        if text not in heard:
            heard.add(text)
            hear(text)

    before, _hear = _hear, once
    try:
        yield
    finally:
        _hear = before
