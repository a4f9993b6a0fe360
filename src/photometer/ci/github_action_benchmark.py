"""Figures as github-action-benchmark reads them, with `tool: customSmallerIsBetter`.

A JSON array; each entry has `name`, `value` and `unit`, and may have `range` and `extra`, all texts but the value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from photometer.ci.exported_figures import LATENCY, ExportedFigure

NANOSECONDS = 1e9


def render_github_action_benchmark(figures: Sequence[ExportedFigure]) -> str:
    """Return the array. An author's own metrics are left out: it is not known whether less of them is better."""
    entries = [_entry(figure) for figure in figures if figure.is_worse_if_more]
    return json.dumps(entries, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _entry(figure: ExportedFigure) -> dict[str, object]:
    scale, unit = (NANOSECONDS, "ns") if figure.unit == "s" else (1.0, figure.unit)
    entry: dict[str, object] = {
        # One name is one chart.
        "name": figure.title if figure.measure == LATENCY else f"{figure.title} ({figure.measure})",
        "unit": unit,
        "value": scale * figure.value,
    }
    if figure.low is not None and figure.high is not None and math.isfinite(figure.high - figure.low):
        entry["range"] = f"± {scale * (figure.high - figure.low) / 2:.6g}"
    words = [f"suite: {figure.suite}", f"device: {figure.name.device}", figure.remark]
    entry["extra"] = "\n".join(word for word in words if word)
    return entry
