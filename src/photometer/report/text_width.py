"""The width of text in columns of a terminal, where some characters take two; padding and wrapping by that width."""

from __future__ import annotations


def width_of(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # 14 ms to import, and most names are ASCII

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
    from rich.cells import chop_cells

    return chop_cells(line, max(width, 2))
