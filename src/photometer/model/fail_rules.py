"""What makes a command fail, as it is written: `slower:5%`, `probable`, `instructions:1%`, `memory:64KiB`, `never`.

In: the words of --fail-on, of pyproject.toml or of a suite. Out: FailRules, one per kind of change.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable
from typing import Literal, get_args

from photometer.errors import DefinitionError
from photometer.model.units import format_bytes

Watched = Literal["slower", "probable", "undecided", "instructions", "memory", "compile", "recompile", "graph-break"]
WATCHED: tuple[Watched, ...] = get_args(Watched)
# What compiled statements can fail on; they have no threshold.
COMPILE_WORDS: tuple[Watched, ...] = ("recompile", "graph-break")
NEVER = "never"
_NUMBER = re.compile(r"(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>%|B|KiB|MiB|GiB)?")
_BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_FORMS = (
    "Write slower, slower:5%, probable, undecided, instructions:1%, memory:0, memory:64KiB, compile:1%, recompile, "
    "graph-break, or never."
)


@dataclasses.dataclass(frozen=True)
class FailRule:
    """Fail if this grows by more than `share` of what it was, or by more than `size_bytes`.

    Without a threshold, any growth that is certain fails.
    """

    watched: Watched
    share: float = 0.0
    size_bytes: int = 0

    def __str__(self) -> str:
        if self.size_bytes:
            return f"{self.watched}:{format_bytes(self.size_bytes).replace(' ', '')}"
        return f"{self.watched}:{100 * self.share:g}%" if self.share else self.watched

    @property
    def allowed(self) -> str:
        """Return the threshold in words, or an empty text if there is none."""
        if self.size_bytes:
            return format_bytes(self.size_bytes)
        return f"{100 * self.share:g} %" if self.share else ""


def parse_rules(texts: Iterable[str]) -> tuple[FailRule, ...]:
    """Return the rules of several words, each of which may hold several between commas; none for `never`."""
    words = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    if NEVER in words:
        if len(set(words)) > 1:
            raise DefinitionError(f"{', '.join(words)}: never cannot be joined with anything", remedy=_FORMS)
        return ()
    rules = [_rule(word) for word in words]
    for watched in WATCHED:
        if len({rule for rule in rules if rule.watched == watched}) > 1:
            raise DefinitionError(f"{', '.join(words)}: there are two rules for {watched}", remedy="Give one of each.")
    return tuple(dict.fromkeys(rules))


def parse_share(text: str | float) -> float:
    """Return 0.005 for `0.5%`, `0.005` or 0.005. Shares of 1 and more are refused: they were meant as per cent."""
    match = _NUMBER.fullmatch(str(text).strip())
    if match is None or match["unit"] not in (None, "%"):
        raise DefinitionError(f"{text!r} is not a share", remedy="Give 1% or 0.01.")
    share = float(match["number"]) / (100.0 if match["unit"] else 1.0)
    if not match["unit"] and share >= 1.0:
        raise DefinitionError(f"{text} is more than 100 %", remedy=f"Write {text}% for per cent.")
    return share


def _rule(word: str) -> FailRule:
    name, colon, threshold = word.partition(":")
    watched = next((each for each in WATCHED if each == name.strip()), None)
    if watched is None:
        raise DefinitionError(f"there is no rule {word!r}", remedy=_FORMS)
    if not colon:
        return FailRule(watched)
    if watched in ("undecided", *COMPILE_WORDS):
        raise DefinitionError(f"{word!r}: {watched} has no threshold", remedy=_FORMS)
    match = _NUMBER.fullmatch(threshold.strip())
    if match is None:
        raise DefinitionError(f"{word!r} has no threshold after the colon", remedy=_FORMS)
    number, unit = float(match["number"]), match["unit"]
    if not math.isfinite(number):
        raise DefinitionError(f"{word!r}: the threshold is too large", remedy=_FORMS)
    if unit in _BYTES or (watched == "memory" and unit is None and number >= 1.0):
        if watched != "memory":
            raise DefinitionError(f"{word!r}: only memory is counted in bytes", remedy=_FORMS)
        return FailRule(watched, size_bytes=int(number * _BYTES[unit or "B"]))
    return FailRule(watched, share=parse_share(threshold))
