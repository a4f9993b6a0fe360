"""Parse the compiler's log: which snippet an error belongs to, and its message with the user's own lines.

In: the text of a log, in which `#line` names such as `photometer_<key>.kept/stmt` mark the snippet of a line.
Out: diagnostics with their owners, and a message for one owner without our names in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from photometer.instruments.cpp.snippet import CppSnippet

_LABEL = re.compile(r"(?P<label>photometer_[0-9a-f]+\.(?:kept|plain))/(?P<part>\w+)(?::(?P<line>\d+):(?P<column>\d+))?")
_PRIMARY = re.compile(
    r"^\S.*?: (?:fatal )?(?:error|warning): |^collect2: error|^\S*ld: (?!.*: in function )|undefined reference to"
)
_ERROR = re.compile(r": (?:fatal )?error: |^error: |^collect2: error|undefined reference to|: cannot find ")
_INCLUDED = re.compile(r"^In file included from|^\s+from .*[:,]$")
_CONTEXT = re.compile(
    rf"{_INCLUDED.pattern}|required (?:from|by)|: At global scope:|: in function |: In (?:\w+ )?"
    r"(?:function|member|lambda|instantiation|constructor|destructor|substitution|static|copy|move|coroutine)"
)
_OWN_CONTEXT = re.compile(r"^photometer_\S+: (?:In .*function|In lambda|At global scope)")
_SYMBOL = re.compile(r"photometer_[0-9a-f]{32}")
_USER_PLACE = re.compile(r"^(?P<part>stmt|setup|global_setup):(?P<line>\d+):(?P<column>\d+): ")
# The linker's last line only summarises those before it.
_SUMMARY = "collect2:"
# The first errors show what is wrong; further ones mostly follow from them.
_MOST_LINES = 60


@dataclass(frozen=True)
class Place:
    """A place in a user's text that a message names."""

    label: str
    part: str
    line: int


@dataclass(frozen=True)
class Diagnostic:
    """One message with the lines that lead to it and follow it, and the places in users' texts that it names."""

    lines: tuple[str, ...]
    places: tuple[Place, ...]
    is_error: bool

    @property
    def owner(self) -> str | None:
        return self.places[0].label if self.places else None

    @property
    def symbols(self) -> set[str]:
        """Snippets named anywhere in it. A linker's message names the function, not the line."""
        return {symbol for line in self.lines for symbol in _SYMBOL.findall(line)}


def read_diagnostics(log: str) -> list[Diagnostic]:
    groups: list[list[str]] = []
    complete = True
    for line in log.splitlines():
        primary = _PRIMARY.search(line) is not None
        if complete and (primary or _CONTEXT.search(line) or not groups):
            groups.append([])
            complete = False
        groups[-1].append(line)
        complete = complete or primary
    return [_diagnostic(group) for group in groups]


def _diagnostic(lines: list[str]) -> Diagnostic:
    found = [match for line in lines for match in _LABEL.finditer(line)]
    places = tuple(Place(match["label"], match["part"], int(match["line"] or 0)) for match in found)
    return Diagnostic(tuple(lines), places, any(_ERROR.search(line) for line in lines))


def owners_of_errors(diagnostics: Sequence[Diagnostic], symbols: Collection[str]) -> set[str] | None:
    """Return the symbols of the snippets to which errors belong; None if some error names none of them."""
    owners: set[str] = set()
    for diagnostic in diagnostics:
        if not diagnostic.is_error or diagnostic.lines[-1].startswith(_SUMMARY):
            continue
        named = {diagnostic.owner.partition(".")[0]} if diagnostic.owner is not None else diagnostic.symbols
        if not named & set(symbols):
            return None
        owners |= named & set(symbols)
    return owners or None


def errors_of(diagnostics: Sequence[Diagnostic], label: str) -> list[Diagnostic]:
    """Return errors that belong to a label, or name no place at all (a linker's)."""
    symbol = label.partition(".")[0]
    return [
        d
        for d in diagnostics
        if d.is_error and (d.owner == label or (d.owner is None and (not d.symbols or symbol in d.symbols)))
    ]


def message_for(log: str, label: str, snippet: CppSnippet) -> str:
    """Return the errors of one label, with the user's line shown below each."""
    shown: list[str] = []
    for diagnostic in errors_of(read_diagnostics(log), label):
        for line in diagnostic.lines:
            if not _OWN_CONTEXT.match(line) and not _INCLUDED.match(line):
                shown += _users_lines(_without_our_names(line), snippet)
    if len(shown) > _MOST_LINES:
        shown = [*shown[:_MOST_LINES], f"… and {len(shown) - _MOST_LINES} more lines"]
    return "\n".join(shown) if shown else _without_our_names(log)


def _without_our_names(line: str) -> str:
    line = re.sub(rf"{_LABEL.pattern.partition('(?::')[0]}", lambda found: found["part"], line)
    return re.sub(rf"{_SYMBOL.pattern}_(?:\w+_)?(?:space::|blocks\b)", "", line)


def _users_lines(line: str, snippet: CppSnippet) -> list[str]:
    """Return the message's line and the line of the user's text that it refers to, which the compiler cannot show."""
    place = _USER_PLACE.match(line)
    if place is None:
        return [line]
    text = getattr(snippet, place["part"]).splitlines()
    number, column = int(place["line"]), int(place["column"])
    if not 1 <= number <= len(text):
        return [line]
    margin = f"{number:5d} | "
    pointer = re.sub(r"[^\t]", " ", text[number - 1][: column - 1])
    return [line, f"{margin}{text[number - 1]}", f"{' ' * (len(margin) - 2)}| {pointer}^"]
