"""C++ text as far as it can be read without a parser: which parts are comments, literals, directives or code.

In: a text. Out: the same text with the other parts blanked, so that every line and column stays valid.
"""

from __future__ import annotations

import re

_OPAQUE = re.compile(
    r"""(?P<raw>R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)")"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')"""
    # A backslash at the end of a line continues a comment too.
    r"""|(?P<comment>//(?:\\[ \t]*\n|[^\n])*|/\*.*?\*/)""",
    re.DOTALL,
)
# A preprocessor line (also with a digraph), with those that continue it.
_DIRECTIVE_LINE = re.compile(r"^[ \t]*(?:\#|%:)(?:\\[ \t]*\n|[^\n])*", re.MULTILINE)


def blanked(text: str) -> str:
    """Return the text with comments as spaces and literals as underscores in quotes; every offset stays valid."""

    def blank(found: re.Match[str]) -> str:
        whole = found.group()
        if found.group("comment") is not None:
            return _spaces(whole)
        return '"' + re.sub(r"[^\n]", "_", whole[1:-1]) + '"'

    return _OPAQUE.sub(blank, text)


def without_directives(bare: str) -> str:
    """Return a blanked text with its preprocessor lines as spaces too."""
    return _DIRECTIVE_LINE.sub(lambda found: _spaces(found.group()), bare)


def runs_on(text: str) -> bool:
    """Whether the text would swallow later lines, because its last line is continued, in a comment too."""
    return text.rstrip().endswith("\\")


def has_open_comment(bare: str) -> bool:
    return "/*" in bare


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
