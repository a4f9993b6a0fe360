"""Escaping of text from users (labels, statements, names of envs): one function per format it is written to.

Each first applies `visible`, which is all that a terminal needs. `visible` keeps line breaks: renderers lay lines out.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from photometer.model.visible_text import visible

if TYPE_CHECKING:
    from markupsafe import Markup

_MARKDOWN_ACTIVE = re.compile(r"([\\`*_\[\]#|~$])")
# Our own signs and lines, for terminals without them; what users wrote is spelled out instead.
_IN_ASCII = str.maketrans(
    {"µ": "u", "×": "x", "≈": "~", "›": ">", "·": "-", "…": "~", "±": "+-", "│": "|", "├": "|", "└": "`", "─": "-"}
)
# A spreadsheet treats a cell that begins with one of these as a formula (full-width forms too).
_FORMULA_START = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def html_text(text: str) -> str:
    """Escape for the inside of an element or of a quoted attribute."""
    return html.escape(visible(text), quote=True)


def html_lines(text: str) -> str:
    """Escape as `html_text` does, and turn line breaks into `<br>`."""
    return html_text(text).replace("\n", "<br>")


def html_prose(text: str) -> Markup:
    """Escape a sentence of ours for a template; text in backticks becomes code."""
    from markupsafe import Markup

    parts = visible(text).split("`")
    if len(parts) % 2 == 0:
        return Markup(html_text(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )


def markdown_text(text: str) -> str:
    """Escape for a table's cell or a heading: one line in which nothing is markup, a link or a mention."""
    escaped = _MARKDOWN_ACTIVE.sub(r"\\\1", visible(text))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Some dialects turn bare addresses into links and an @ into a mention; backslashes do not prevent that.
    escaped = escaped.replace("@", "&#64;").replace("://", "&#58;//").replace("www.", "www&#46;")
    return escaped.replace("\n", "<br>")


def encodable(text: str, encoding: str | None) -> str:
    """Return the text in a form that this encoding can write: our own signs in ASCII, all others as escapes."""
    name = encoding or "utf-8"
    try:
        text.encode(name)
    except UnicodeEncodeError:
        return text.translate(_IN_ASCII).encode(name, "backslashreplace").decode(name)
    return text


def csv_text(text: str) -> str:
    """Escape for a CSV field, so that no spreadsheet treats it as a formula. The csv module does the quoting."""
    plain = visible(text)
    return "'" + plain if text.startswith(_FORMULA_START) else plain
