"""What the value of an option may be: numbers in their range, and values that may be left out.

A number outside the range in which it means something is a usage error. The value of `--device [NAME]`, `--json [FILE]`
and others may be left out: the word after such an option is its value if it looks like one: a kind of device with or
without a number, or a name with the format's ending. Anything else is the next argument. With an equals sign,
`--device=NAME`, it is always the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import typer

from photometer.report.tables.formats import FORMATS
from photometer.worker.accelerators import BACKENDS

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


# What an option is without a value.
LEFT_OUT = "-"

_DEVICE = re.compile(rf"(cpu|{'|'.join(backend.kind for backend in BACKENDS)})(:\d+)?")


def _ends_in(*endings: str) -> Callable[[str], bool]:
    return lambda word: word.lower().endswith(endings) and len(word.split()) == 1


# By option: whether the next word is its value.
_IS_VALUE: dict[str, Callable[[str], bool]] = {
    "--device": lambda word: _DEVICE.fullmatch(word) is not None,
    **{f"--{each.name}": _ends_in(*each.endings) for each in FORMATS},
}


def with_values(words: Sequence[str], known: frozenset[str]) -> list[str]:
    """Return the words of a command line with a value for each of the command's options of this kind."""
    return list(_completed(words, known & _IS_VALUE.keys()))


def _completed(words: Sequence[str], options: frozenset[str]) -> Iterator[str]:
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            yield from (word, *words[at:])
            return
        if word not in options:
            yield word
        elif at < len(words) and _IS_VALUE[word](words[at]):
            yield f"{word}={words[at]}"
            at += 1
        else:
            yield f"{word}={LEFT_OUT}"
