"""The page itself: one HTML document with style, script and data inside, which asks for nothing from outside.

In: a ReportView (`report_view` makes it from results files) or a FuzzMap. Out: the text of the document.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photometer.analysis.fuzz_map import FuzzMap
from photometer.model.visible_text import visible
from photometer.report.escape import html_prose
from photometer.report.page.overview_figures import page_figures
from photometer.report.page.page_data import page_data
from photometer.report.page.view_fuzz import fuzz_view
from photometer.report.page.view_report import ReportView
from photometer.report.tables.as_html import page_table

if TYPE_CHECKING:
    from jinja2 import Environment

# Its scripts and its style are shared with the site of a history.
REPORT_FOLDER = _FOLDER = Path(__file__).parent
# A longer table beside the benchmarks is folded: theirs must not begin below it.
MOST_OPEN_ROWS = 20
# In this order: each uses those before it.
_SCRIPTS = ("dom", "format", "scale", "figure", "lines", "distribution", "icicle", "table", "details", "theme", "page")


def render_report(view: ReportView) -> str:
    """Return the whole document."""
    figures = page_figures(view)
    data = page_data(view, list(figures.values()))
    script, style = page_script(), (_FOLDER / "page.css").read_text(encoding="utf-8")
    return (
        document_templates()
        .get_template("page.html.jinja")
        .render(
            title=view.title,
            view=view,
            figure_numbers={name: number for number, name in enumerate(figures)},
            figures=figures,
            most_open_rows=MOST_OPEN_ROWS,
            light_json=script_json(data.light),
            chunk_jsons=[script_json(chunk) for chunk in data.chunks],
            script=script,
            style=style,
            policy=content_policy(script, style),
        )
    )


def document_templates() -> Environment:
    """Return the templates of all documents. They share head, style and theme (document.html.jinja)."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"visible": visible, "prose": html_prose, "page_table": page_table}
    return environment


def script_of_theme() -> str:
    """Return the script of a document that needs only the button for light and dark."""
    script = combined_script([_FOLDER / "script" / f"{name}.js" for name in ("dom", "theme")]) + "\n"
    return script.replace("})();\n", "chooseTheme();\n})();\n")


def render_fuzz_page(found: FuzzMap, title: str = "Fuzzed inputs", notes: Sequence[str] = ()) -> str:
    """Return the document for one fuzz run. `notes` stand below the findings: the fuzzer, the seed, the machine."""
    return render_report(ReportView(title, fuzz=(fuzz_view(found, notes),)))


def page_script() -> str:
    """Return all scripts as one, in a scope of its own."""
    return combined_script([_FOLDER / "script" / f"{name}.js" for name in _SCRIPTS])


def combined_script(paths: Sequence[Path]) -> str:
    """Return scripts as one, in a scope of its own; each uses those before it."""
    return '"use strict";\n(() => {\n' + "\n".join(path.read_text(encoding="utf-8") for path in paths) + "})();\n"


def content_policy(script: str, style: str) -> str:
    """Return the Content-Security-Policy that allows this script and this style, and no address at all."""
    allowed = f"script-src {_source_hash(script)}; style-src {_source_hash(style)}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _source_hash(text: str) -> str:
    """Return the name of an inline script or style in a policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def script_json(value: Any) -> str:
    """Return JSON that can neither end the script element it stands in nor open a comment there."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
