"""Own metrics, the phases of training steps, and the sentences of sweeps, as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from photometer.analysis.curves import CurveSet
from photometer.analysis.order_facts import OrderFacts
from photometer.model.observed_run import MetricValues
from photometer.model.units import format_seconds
from photometer.model.visible_text import visible_line
from photometer.report.text_columns import text_columns


def render_metrics(facts: Sequence[OrderFacts], width: int) -> str:
    """Return one row per order with its metrics: the value, or the first and the last of several runs."""
    known = [each for each in facts if each.metrics is not None]
    names = list(dict.fromkeys(metric.name for each in known if each.metrics for metric in each.metrics.metrics))
    rows = []
    for each in known:
        found = {} if each.metrics is None else {metric.name: metric for metric in each.metrics.metrics}
        rows.append((each.title, *(metric_text(found[name]) if name in found else "" for name in names)))
    return _block(("metrics", *map(visible_line, names)), rows, width)


def metric_text(metric: MetricValues) -> str:
    """Return the value; of one that changes from run to run, the first and the last."""
    first, last = metric.values[0], metric.values[-1]
    if min(metric.values) == max(metric.values):
        return number_text(first)
    return f"{number_text(first)} … {number_text(last)}"


def number_text(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.5g}"


def render_phases(facts: Sequence[OrderFacts], width: int) -> str:
    """Return one row per step: the median of each phase, with its share of all of them."""
    known = [each.phases.phases for each in facts if each.phases is not None]
    titles = [each.title for each in facts if each.phases is not None]
    names = list(dict.fromkeys(phase.name for phases in known for phase in phases))
    rows = []
    for title, phases in zip(titles, known, strict=True):
        found = {phase.name: phase.median for phase in phases}
        whole = sum(found.values()) or 1.0
        cells = [
            f"{format_seconds(found[name], 3)} {100 * found[name] / whole:>3.0f} %" if name in found else ""
            for name in names
        ]
        rows.append((title, *cells))
    return _block(("phases", *map(visible_line, names)), rows, width)


def render_curves(sets: Sequence[CurveSet]) -> str:
    """Return what the sweeps show, in sentences: where a variant becomes faster, and how each grows."""
    lines = []
    for each in sets:
        if each.sentences:
            lines += ["", visible_line(f"{' › '.join(each.label)}, over {each.axis}:")]
            lines += [f"  {visible_line(sentence)}" for sentence in each.sentences]
    return "\n".join(lines) + "\n" if lines else ""


def _block(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    return "\n".join(["", *text_columns(heads, rows, width)]) + "\n" if rows else ""
