"""Text from strangers (labels, statements, names of envs) made harmless for each place it is written to.

In every place, characters that act instead of showing (terminal escapes, marks that turn the reading direction,
line separators, lone surrogates) become a visible escape such as \\x1b. Line ends stay: renderers lay lines out.
"""

from __future__ import annotations

import html
import re

# Controls, soft hyphen, Arabic letter mark, zero-width space and direction marks, separators and embeddings, word
# joiner and isolates, byte order mark, surrogates, annotation anchors, tags. The joiners U+200C and U+200D stay:
# honest words in several scripts need them, and they move nothing.
_ACTING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_MARKDOWN_ACTIVE = re.compile(r"([\\`*_{}\[\]#|~$!^])")
# A spreadsheet takes a cell that begins so for a formula (full-width forms too).
_FORMULA_START = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def visible(text: str) -> str:
    """The text with nothing in it that acts on the reader's screen; tabs are spaces and every line end is \\n."""
    if text.isascii() and text.isprintable():
        return text
    plain = text.replace("\r\n", "\n").replace("\t", "    ")
    return _ACTING.sub(lambda found: _spell(found.group()), plain)


def _spell(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def html_text(text: str) -> str:
    """For the inside of an element or of a quoted attribute."""
    return html.escape(visible(text), quote=True)


def html_lines(text: str) -> str:
    """As `html_text`, with line ends that show."""
    return html_text(text).replace("\n", "<br>")


def markdown_text(text: str) -> str:
    """For a table's cell or a heading: one line, nothing in it is markup, a link or a mention."""
    escaped = _MARKDOWN_ACTIVE.sub(r"\\\1", visible(text))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Some dialects make links of bare addresses and call people named with an @; backslashes do not stop that.
    escaped = escaped.replace("@", "&#64;").replace("://", "&#58;//").replace("www.", "www&#46;")
    return escaped.replace("\n", "<br>")


def csv_text(text: str) -> str:
    """For a CSV field (quoting is the csv module's work): no spreadsheet takes it for a formula."""
    plain = visible(text)
    return "'" + plain if text.startswith(_FORMULA_START) else plain
