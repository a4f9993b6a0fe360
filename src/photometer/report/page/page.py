"""The page itself: a ReportView to one HTML document with style, script and data inside. It asks for nothing outside.

In comes a view (view_report.py makes it from results files); out comes the document's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from photometer.model.visible_text import visible
from photometer.report.page.content_policy import content_policy, script_json
from photometer.report.page.figure import Figure
from photometer.report.page.overview_figures import (
    forest,
    fuzz_map_figure,
    instructions_against_time,
    ladder_figure,
    time_against_instructions,
)
from photometer.report.page.page_data import page_data
from photometer.report.page.view_report import ReportView

_FOLDER = Path(__file__).parent
# One after the other, each uses what stands before it.
_SCRIPTS = ("dom", "format", "scale", "figure", "distribution", "icicle", "table", "details", "page")


def render_report(view: ReportView) -> str:
    """The whole document."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
    environment.filters["visible"] = visible
    figures = page_figures(view)
    data = page_data(view, list(figures.values()))
    script, style = page_script(), (_FOLDER / "page.css").read_text(encoding="utf-8")
    return environment.get_template("page.html.jinja").render(
        view=view,
        figure_numbers={name: number for number, name in enumerate(figures)},
        figures=figures,
        light_json=script_json(data.light),
        chunk_jsons=[script_json(chunk) for chunk in data.chunks],
        script=script,
        style=style,
        policy=content_policy([script], [style]),
    )


def page_figures(view: ReportView) -> dict[str, Figure]:
    """The figures that the page draws, by name. The forest is not among them: on the page the table is the forest."""
    figures: Sequence[Figure | None] = (
        time_against_instructions(view.comparisons),
        instructions_against_time(view.benchmarks),
        *(ladder_figure(ladder, number) for number, ladder in enumerate(view.ladders, start=1)),
        *(fuzz_map_figure(fuzz) for fuzz in view.fuzz),
    )
    named: dict[str, Figure] = {}
    for figure in figures:
        if figure is not None:
            named[figure.name if figure.name not in named else f"{figure.name}-{len(named) + 1}"] = figure
    return named


def all_figures(view: ReportView) -> dict[str, Figure]:
    """As files: those of the page, and the forest."""
    head: dict[str, Figure] = {"forest": forest(view.comparisons)} if view.comparisons else {}
    return {**head, **page_figures(view)}


def page_script() -> str:
    """All scripts as one, in a scope of its own."""
    texts = [(_FOLDER / "script" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(texts) + "})();\n"
