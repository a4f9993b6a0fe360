"""Remarks: what a user should know about how servers were started: warnings, unless the command prints them itself."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator

Show = Callable[[str], object]


def _warn(text: str) -> None:
    warnings.warn(f"photometer: {text}", stacklevel=3)


_show: Show = _warn


def remark(text: str) -> None:
    _show(text)


@contextlib.contextmanager
def remarks_to(show: Show) -> Iterator[None]:
    """Pass remarks to `show` during the block, each of them once."""
    global _show
    shown: set[str] = set()

    def once(text: str) -> None:
        if text not in shown:
            shown.add(text)
            show(text)

    before, _show = _show, once
    try:
        yield
    finally:
        _show = before
