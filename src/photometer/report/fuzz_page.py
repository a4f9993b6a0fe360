"""The map of a fuzz run as one HTML page that opens offline: findings, a scatter plot, every input, every failure.

In comes a FuzzMap; out comes the page's text. Everything a stranger may have written (statements, parameters, messages)
is escaped for the place it stands in, and a content security policy lets only the page's own scripts run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

from photometer.comparison.fuzz_map import FuzzMap, figure_of, verdict_of
from photometer.model.fuzz_trial import FuzzTrial
from photometer.model.visible_text import visible
from photometer.report.escape import html_text
from photometer.report.fuzz_cells import trial_cells, trial_heads

# Told apart by people who see few colours, too; and readable on black and on white.
_CONTIGUOUS, _NOT_CONTIGUOUS = "#0072b2", "#d55e00"
_STANDINGS = {1: "slower", -1: "faster", 0: ""}
_DRAW = (
    "const figure = JSON.parse(document.getElementById('figure').textContent);"
    "Plotly.newPlot('chart', figure.data, figure.layout, {responsive: true, displayModeBar: false});"
)


def render_fuzz_page(found: FuzzMap, title: str = "photometer fuzz", notes: Sequence[str] = ()) -> str:
    """The whole document. `notes` stand below the findings: the fuzzer, the seed, the machine."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("photometer.report", "."), autoescape=True, undefined=StrictUndefined
    )
    plotly_script = _plotly_script() if found.trials else ""
    hashes = " ".join(_script_hash(script) for script in (plotly_script, _DRAW)) if found.trials else "'none'"
    return environment.get_template("fuzz_page.html.jinja").render(
        title=visible(title),
        statements=[visible(statement) for statement in found.statements],
        headline=found.headline,
        findings=[visible(finding) for finding in found.findings],
        notes=[visible(note) for note in notes],
        heads=trial_heads(found),
        rows=[_row(found, trial) for trial in found.trials],
        failures=[_failure(trial) for trial in found.failed],
        chart_words=f"{_y_title(found)} against number of elements",
        figure_json=script_json(_figure(found)),
        plotly_script=plotly_script,
        draw_script=_DRAW,
        script_hashes=hashes,
    )


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _plotly_script() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _script_hash(script: str) -> str:
    """As a content security policy names a script by its content."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _row(found: FuzzMap, trial: FuzzTrial) -> dict[str, Any]:
    return {"cells": trial_cells(found, trial), "standing": _STANDINGS[verdict_of(trial)]}


def _failure(trial: FuzzTrial) -> dict[str, Any]:
    assert trial.failure is not None
    return {
        "index": trial.index,
        "text": visible(trial.text),
        "where": visible(trial.failure.where),
        "error": visible(f"{trial.failure.exception_type}: {trial.failure.message}"),
        "params": visible(", ".join(f"{name}={value}" for name, value in trial.params.items())),
        "rebuild_line": visible(trial.rebuild_line),
    }


def _y_title(found: FuzzMap) -> str:
    return "Ratio of the times" if found.is_comparison else "Nanoseconds an element"


def _figure(found: FuzzMap) -> dict[str, Any]:
    """Plotly's description of the scatter plot. Plotly reads markup in labels, so they are escaped as for HTML."""
    scale = 1.0 if found.is_comparison else 1e9
    traces = []
    for contiguous, name, colour in (
        (True, "contiguous", _CONTIGUOUS),
        (False, "not contiguous", _NOT_CONTIGUOUS),
    ):
        trials = [trial for trial in found.trials if trial.is_contiguous is contiguous]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": f"{name} ({len(trials)})",
                "x": [max(trial.elements, 1) for trial in trials],
                "y": [math.exp(figure_of(trial)) * scale for trial in trials],
                "text": [html_text(f"#{trial.index} {found.describe(trial)}") for trial in trials],
                "hovertemplate": "%{text}<br>%{y:.3g}<extra></extra>",
                "marker": {"color": colour, "size": 8, "symbol": "circle" if contiguous else "diamond"},
            }
        )
    grid = "rgba(128,128,128,.3)"
    layout: dict[str, Any] = {
        "xaxis": {"type": "log", "title": {"text": "Elements of the largest tensor"}, "gridcolor": grid},
        "yaxis": {"type": "log", "title": {"text": _y_title(found)}, "gridcolor": grid},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "#808080"},
        "hovermode": "closest",
        "margin": {"t": 10},
        "legend": {"orientation": "h", "y": 1.1},
    }
    if found.is_comparison:
        line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": {"color": "#808080"}}
        layout["shapes"] = [line]
    return {"data": traces, "layout": layout}
