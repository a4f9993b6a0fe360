"""The width of text in columns of a terminal, where some characters take two; padding and wrapping by that width."""

from __future__ import annotations

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
