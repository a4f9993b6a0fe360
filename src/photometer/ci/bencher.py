"""Figures in the Bencher Metric Format (BMF), for `bencher run --adapter json --file FILE`.

A JSON object of benchmarks; each is an object of measures, and each of those has `value` and may have `lower_value` and
`upper_value`. `latency` is Bencher's own measure, in nanoseconds; the others are created when they first come.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from photometer.ci.exported_figures import ExportedFigure

NANOSECONDS = 1e9
# Bencher's limits.
LONGEST_BENCHMARK = 1024
LONGEST_MEASURE = 64


def render_bencher(figures: Sequence[ExportedFigure]) -> str:
    """Return the object."""
    benchmarks: dict[str, dict[str, dict[str, float]]] = {}
    for figure in figures:
        measures = benchmarks.setdefault(figure.title[:LONGEST_BENCHMARK], {})
        measures[figure.measure[:LONGEST_MEASURE]] = _metric(figure)
    return json.dumps(benchmarks, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _metric(figure: ExportedFigure) -> dict[str, float]:
    scale = NANOSECONDS if figure.unit == "s" else 1.0
    found = {"value": figure.value, "lower_value": figure.low, "upper_value": figure.high}
    return {name: scale * value for name, value in found.items() if value is not None and math.isfinite(value)}
