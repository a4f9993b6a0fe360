"""Options whose value may be left out: `--device [NAME]`, and `--json [FILE]` and others that print.

The word after such an option is its value if it looks like one: a kind of device with or without a number, or a name
with the format's ending. Anything else is the next argument. With an equals sign, `--device=NAME`, it is always the
value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from photometer.worker.accelerators import BACKENDS

# What an option is without a value.
LEFT_OUT = "-"

_DEVICE = re.compile(rf"(cpu|{'|'.join(backend.kind for backend in BACKENDS)})(:\d+)?")


def _ends_in(*endings: str) -> Callable[[str], bool]:
    return lambda word: word.lower().endswith(endings) and len(word.split()) == 1


# By option: whether the next word is its value.
_IS_VALUE: dict[str, Callable[[str], bool]] = {
    "--device": lambda word: _DEVICE.fullmatch(word) is not None,
    "--json": _ends_in(".json"),
    "--csv": _ends_in(".csv"),
    "--markdown": _ends_in(".md"),
    "--html": _ends_in(".html", ".htm"),
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
