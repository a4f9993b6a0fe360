"""The compiler's log, taken apart: which snippet an error belongs to, and its message in the user's own lines.

In: the text of a log, in which `#line` names such as `photometer_<key>.kept/stmt` mark whose line is meant.
Out: diagnostics with their owners, and a message for one owner without our names in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from photometer.instruments.cpp.snippet import CppSnippet

_LABEL = re.compile(r"(photometer_[0-9a-f]+(?:_plain)?\.(?:kept|plain))/(\w+)")
_PRIMARY = re.compile(r"^\S.*?: (?:fatal )?(?:error|warning): |^collect2: error|^\S*ld: |undefined reference to")
_ERROR = re.compile(r": (?:fatal )?error: |^collect2: error|undefined reference to|: cannot find ")
_FATAL = re.compile(r": fatal error: ")
_CONTEXT = re.compile(
    r"^In file included from|^\s+from .*[:,]$|required (?:from|by)|: At global scope:|: in function |: In (?:\w+ )?"
    r"(?:function|member|lambda|instantiation|constructor|destructor|substitution|static|copy|move|coroutine)"
)
_OWN_CONTEXT = re.compile(r"^photometer_\S+: (?:In .*function|In lambda|At global scope)")
_SYMBOL = re.compile(r"\bphotometer_([0-9a-f]{16,})")
_USER_PLACE = re.compile(r"^(?P<part>stmt|setup|global_setup):(?P<line>\d+):(?P<column>\d+): ")
# Beyond this a cascade of errors helps nobody; the first ones say what is wrong.
_MOST_LINES = 60


@dataclass(frozen=True)
class Diagnostic:
    """One message with the lines that lead to it and follow it. `owner` is a label, or None where none is named."""

    lines: tuple[str, ...]
    owner: str | None
    is_error: bool
    is_fatal: bool


def read_diagnostics(log: str) -> list[Diagnostic]:
    groups: list[list[str]] = []
    has_primary = True
    for line in log.splitlines():
        primary = _PRIMARY.search(line) is not None
        if has_primary and (primary or _CONTEXT.search(line)):
            groups.append([])
            has_primary = False
        if not groups:
            groups.append([])
        groups[-1].append(line)
        has_primary = has_primary or primary
    return [_diagnostic(group) for group in groups]


def _diagnostic(lines: list[str]) -> Diagnostic:
    text = "\n".join(lines)
    found = _LABEL.search(text)
    is_error = any(_ERROR.search(line) for line in lines)
    return Diagnostic(tuple(lines), found.group(1) if found else None, is_error, _FATAL.search(text) is not None)


def owners_of_errors(log: str, symbols: Collection[str]) -> set[str] | None:
    """The symbols of the snippets to which errors belong; None where an error names nobody."""
    owners: set[str] = set()
    for diagnostic in read_diagnostics(log):
        if not diagnostic.is_error:
            continue
        # Where no `#line` name stands (a linker's message), the mangled name of the function may.
        named = {f"photometer_{key}" for line in diagnostic.lines for key in _SYMBOL.findall(line)} & set(symbols)
        if diagnostic.owner is not None:
            named = {diagnostic.owner.partition(".")[0].removesuffix("_plain")} & set(symbols) or named
        if not named and not diagnostic.lines[-1].startswith("collect2"):
            return None
        owners |= named
    return owners or None


def has_errors_of(log: str, label: str) -> bool:
    return any(d.is_error and d.owner in (label, None) for d in read_diagnostics(log))


def message_for(log: str, label: str, snippet: CppSnippet) -> str:
    """The errors of one label (and of nobody), with the user's line shown below each."""
    shown: list[str] = []
    for diagnostic in read_diagnostics(log):
        if diagnostic.is_error and diagnostic.owner in (label, None):
            for line in diagnostic.lines:
                if not _OWN_CONTEXT.match(line):
                    shown += _users_lines(_without_our_names(line), snippet)
    if len(shown) > _MOST_LINES:
        shown = [*shown[:_MOST_LINES], f"… and {len(shown) - _MOST_LINES} lines more"]
    return "\n".join(shown) if shown else _without_our_names(log)


def _without_our_names(line: str) -> str:
    line = _LABEL.sub(lambda found: found.group(2), line)
    return re.sub(r"photometer_[0-9a-f]{16,}(?:_plain)?_(?:space::|blocks\b)", "", line)


def _users_lines(line: str, snippet: CppSnippet) -> list[str]:
    """The message's line, and below it the line it speaks of: the compiler could not show that, we can."""
    place = _USER_PLACE.match(line)
    if place is None:
        return [line]
    text = getattr(snippet, place.group("part")).splitlines()
    number, column = int(place.group("line")), int(place.group("column"))
    if not 1 <= number <= len(text):
        return [line]
    margin = f"{number:5d} | "
    pointer = re.sub(r"[^\t]", " ", text[number - 1][: column - 1])
    return [line, f"{margin}{text[number - 1]}", f"{' ' * (len(margin) - 2)}| {pointer}^"]
