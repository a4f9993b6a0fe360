r"""Make text from others harmless to look at: what acts instead of showing becomes a visible escape such as \x1b.

These are terminal escapes, marks that turn the reading direction, line separators and lone surrogates. Line ends stay.
"""

from __future__ import annotations

import re

# Controls, soft hyphen, Arabic letter mark, zero-width space and direction marks, separators and embeddings, word
# joiner and isolates, byte order mark, surrogates, annotation anchors, tags. The joiners U+200C and U+200D stay:
# ordinary words in several scripts need them, and they move nothing.
_ACTING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""Return the text with nothing in it that acts on the reader's screen; tabs are spaces and line ends are \n."""
    if text.isascii() and text.isprintable():
        return text
    plain = text.replace("\r\n", "\n").replace("\t", "    ")
    return _ACTING.sub(lambda found: _spell(found.group()), plain)


def visible_line(text: str) -> str:
    r"""Return the same for one cell or line of a layout: line ends, too, become visible as \n."""
    return visible(text).replace("\n", "\\n")


def _spell(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
