"""Text in the columns of a terminal, where some characters take two: its width, padding and wrapping.

Names in little room are wrapped where they have joints, or lose their middle, and never so that two look alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

# Our own signs, all of which take one column, as everything below U+0300 does (`visible` has spelled out controls).
_NARROW = frozenset("›…–→≈▁▂▃▄▅▆▇█│├└─")


def width_of(text: str) -> int:
    if text.isascii() or all(each < "\u0300" or each in _NARROW for each in text):
        return len(text)
    from rich.cells import cell_len  # 14 ms to import, and most names have none of these

    return cell_len(text)


def pad(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def centre(text: str, width: int) -> str:
    spare = max(width - width_of(text), 0)
    return " " * (spare // 2) + text + " " * (spare - spare // 2)


def wrap(text: str, width: int) -> list[str]:
    """Return lines no wider than `width`, broken at spaces if possible. Line breaks in the text are kept."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += [line] if width_of(line) <= width else _wrap_line(line, width)
    return lines


def _wrap_line(line: str, width: int) -> list[str]:
    if line.isascii():
        import textwrap

        # Code keeps its indentation in continuation lines.
        indent = line[: len(line) - len(line.lstrip())][: width // 2]
        return textwrap.wrap(line, width, subsequent_indent=indent, drop_whitespace=True) or [""]
    return _wrap_words(line, max(width, 2))


def _wrap_words(line: str, width: int) -> list[str]:
    """Break at spaces; a word that is wider than a line is chopped."""
    from rich.cells import chop_cells

    indent = line[: len(line) - len(line.lstrip(" "))][: width // 2]
    lines, current = [], ""
    for word in filter(None, line.split(" ")):
        longer = f"{current} {word}" if current.strip() else indent + word
        if width_of(longer) <= width:
            current = longer
            continue
        if current.strip():
            lines.append(current)
        *chopped, rest = chop_cells(word, width - len(indent)) or [""]
        lines += [indent + part for part in chopped]
        current = indent + rest
    return [*lines, current]


ELLIPSIS = "…"
# Where a name may be broken: after one of these.
_JOINTS = " ›/:._,-]);"
# Before one of these; after a space first of all, so that the brackets of a variant stay together.
_OPENINGS = "[({"


def wrap_name(name: str, width: int) -> list[str]:
    """Return lines no wider than `width` that are the whole name; broken at joints beyond the middle, if there are."""
    lines = []
    rest = name
    while width_of(rest) > width:
        most = len(_head(rest, width)) or 1
        second_half = range(most, most // 2, -1)
        openings = [i for i in second_half if rest[i] in _OPENINGS and rest[i - 1] == " "]
        joints = [i for i in second_half if rest[i - 1] in _JOINTS or rest[i] in _OPENINGS]
        end = (openings or joints or [most])[0]
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip(" ")
    return [*lines, rest] if rest or not lines else lines


def shorten_apart(names: Sequence[str], longest: int) -> list[str]:
    """Return the names, those beyond `longest` without their middle. Names that differ stay different."""
    shown = [_without_middle(name, longest) for name in names]
    if _tells_apart(names, shown):
        return shown
    # Of those that look alike, what differs is kept instead; if that is not enough, all of it.
    alike = {text for text, count in Counter(dict(zip(names, shown, strict=True)).values()).items() if count > 1}
    for text in alike:
        group = [name for name, short in zip(names, shown, strict=True) if short == text]
        start = max(_common_start(group) - longest // 4, 0)
        for place, (name, short) in enumerate(zip(names, shown, strict=True)):
            if short == text:
                shown[place] = _head(name, longest // 4) + ELLIPSIS + _without_middle(name[start:], 3 * longest // 4)
    if _tells_apart(names, shown):
        return shown
    counted = Counter({text: len({n for n, s in zip(names, shown, strict=True) if s == text}) for text in shown})
    return [name if counted[text] > 1 else text for name, text in zip(names, shown, strict=True)]


def _tells_apart(names: Sequence[str], shown: Sequence[str]) -> bool:
    return len(set(names)) == len(set(shown))


def _common_start(names: Sequence[str]) -> int:
    first, last = min(names), max(names)
    return next((i for i, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))


def _without_middle(name: str, longest: int) -> str:
    """Leave out the middle: the end of a name says as much as its beginning."""
    if width_of(name) <= longest:
        return name
    left = (longest - 1) // 2
    return _head(name, left) + ELLIPSIS + _tail(name, longest - 1 - left)


def _head(text: str, width: int) -> str:
    """Return as many characters from the start as fit."""
    if text.isascii():
        return text[:width]
    used = 0
    for place, character in enumerate(text):
        used += width_of(character)
        if used > width:
            return text[:place]
    return text


def _tail(text: str, width: int) -> str:
    if text.isascii():
        return text[len(text) - width :]
    used = 0
    for place in range(len(text) - 1, -1, -1):
        used += width_of(text[place])
        if used > width:
            return text[place + 1 :]
    return text
