"""Text from strangers (labels, statements, names of envs) made harmless for each place it is written to.

Each begins with `visible`, which is all a terminal needs. Line ends stay there: renderers lay lines out.
"""

from __future__ import annotations

import html
import re

from photometer.model.visible_text import visible

_MARKDOWN_ACTIVE = re.compile(r"([\\`*_\[\]#|~$])")
# A spreadsheet takes a cell that begins so for a formula (full-width forms too).
_FORMULA_START = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


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


def encodable(text: str, encoding: str | None) -> str:
    """The text as an output of this encoding can take it: our own signs in ASCII, others as escapes."""
    name = encoding or "utf-8"
    try:
        text.encode(name)
    except UnicodeEncodeError:
        return text.replace("×", "x").replace("≈", "~").encode(name, "backslashreplace").decode(name)
    return text


def csv_text(text: str) -> str:
    """For a CSV field (quoting is the csv module's work): no spreadsheet takes it for a formula."""
    plain = visible(text)
    return "'" + plain if text.startswith(_FORMULA_START) else plain
