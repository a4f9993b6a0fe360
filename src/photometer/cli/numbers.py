"""Checks of options that are numbers: finite, and in the range in which they mean something. Each is a usage error."""

from __future__ import annotations

from typing import TypeVar

import typer

# Four months. Much longer waits overflow in the system's calls, and mean a slip of the finger.
MOST_SECONDS = 1e7
# Larger numbers of threads, counts or layouts only take the machine down.
MOST_THREADS = 4096
MOST_REPEATS = 10_000
# On one machine; each has a torch of its own in memory.
MOST_RANKS = 256

_Number = TypeVar("_Number", float, None)


def seconds(value: _Number) -> _Number:
    """Return the value of an option that is a duration."""
    if value is not None and not 0.0 < value <= MOST_SECONDS:
        raise typer.BadParameter(f"{value:g} is not a valid time: give seconds, more than 0, such as 2.5")
    return value


def seconds_or_none(value: _Number) -> _Number:
    """Return the value of an option that is a duration, or 0, which turns something off."""
    return value if value == 0 else seconds(value)


def share(text: str | float) -> float:
    """Return the value of an option that is a share: 1% and 0.01 are the same."""
    value = margin_share(text)
    if not 0.0 < value < 1.0:
        raise typer.BadParameter(f"{text} is not between 0 and 1: give a share such as 1% or 0.01")
    return value


def margin_share(text: str | float) -> float:
    """Return the value of a margin: a share, or 0 for none."""
    from photometer.errors import DefinitionError
    from photometer.model.fail_rules import parse_share

    try:
        value = parse_share(text)
    except DefinitionError as error:
        raise typer.BadParameter(f"{error.message}: give a share such as 1% or 0.01") from None
    if not value < 1.0:
        raise typer.BadParameter(f"{text} is not between 0 and 1: give a share such as 1% or 0.01")
    return value
