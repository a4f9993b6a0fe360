"""The page of the site: one document, one script and one style, made of the report page's parts and the site's own.

Nothing in them depends on the data: labels, statements and subjects of commits reach the page only as JSON text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from photometer.model.visible_text import visible
from photometer.report.page.page import REPORT_FOLDER, combined_script

_FOLDER = Path(__file__).parent
# In this order: each uses those before it.
_SHARED_SCRIPTS = ("dom", "format", "scale", "figure", "table", "theme")
_OWN_SCRIPTS = ("load", "words", "curve", "overview", "benchmarks", "benchmark", "compare", "site")
# Scripts, styles and data of the site itself, and nothing else.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'"


def document(title: str) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
    environment.filters["visible"] = visible
    return environment.get_template("site.html.jinja").render(title=title, policy=POLICY)


def script() -> str:
    shared = [REPORT_FOLDER / "script" / f"{name}.js" for name in _SHARED_SCRIPTS]
    return combined_script([*shared, *(_FOLDER / "script" / f"{name}.js" for name in _OWN_SCRIPTS)])


def style() -> str:
    return "".join((folder / name).read_text(encoding="utf-8") for folder, name in _STYLES)


_STYLES = ((REPORT_FOLDER, "page.css"), (_FOLDER, "site.css"))


def data_script(name: str, value: Any) -> str:
    """Return a data file: a script that passes JSON as text, because a page from disk may not read other files.

    As text it is nothing but data, whatever its keys are.
    """
    content = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # In single quotes: the many double ones of JSON stay as they are.
    quoted = content.replace("\\", "\\\\").replace("'", "\\'")
    return f"photometerData({json.dumps(name)},'{quoted}');\n"
