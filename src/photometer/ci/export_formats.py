"""The formats of services that keep results of many commits, by the name that `--format` has for them.

The Bencher Metric Format (BMF), for `bencher run --adapter json --file FILE`; records of PyTorch's benchmark database
(oss_ci_benchmark_v3), which its HUD reads; and a JSON array for github-action-benchmark with `tool:
customSmallerIsBetter`, each of whose entries has `name`, `value` and `unit`, and may have `range` and `extra`, all
texts but the value.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from photometer.ci.exported_figures import LATENCY, ExportedFigure

MICROSECONDS = 1e6
# As PyTorch's own operator benchmarks say it.
_MODES = {"forward": "inference", "forward+backward": "training"}
MODEL_TYPE = "micro-benchmark"


def render_pytorch_hud(figures: Sequence[ExportedFigure]) -> str:
    """Return the array."""
    return json.dumps([_record(figure) for figure in figures], indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _record(figure: ExportedFigure) -> dict[str, Any]:
    name = figure.name
    scale, unit = (MICROSECONDS, "us") if figure.unit == "s" else (1.0, figure.unit)
    about = {
        "device": name.device,
        "language": name.language,
        "num_threads": str(name.num_threads),
        **{f"size_{size}": str(value) for size, value in name.sizes},
    }
    known = {"unit": unit, "low": figure.low, "high": figure.high, "remark": figure.remark}
    record: dict[str, Any] = {
        "benchmark": {
            "name": figure.suite,
            "mode": _MODES.get(name.autograd, name.autograd),
            "dtype": "",
            "extra_info": about,
        },
        "model": {
            "name": figure.title,
            "type": MODEL_TYPE,
            "backend": " ".join((name.runtime, *name.compile_words)),
            "origins": ["photometer"],
        },
        "metric": {
            "name": figure.measure,
            "benchmark_values": [scale * figure.value],
            "extra_info": {key: text for key, value in known.items() if (text := _text(value, scale))},
        },
    }
    torch = None if figure.machine is None else figure.machine.torch
    if torch is not None and torch.version:
        version = {"repo": "pytorch/pytorch", "version": torch.version, "sha": torch.git_version or ""}
        record["dependencies"] = {"pytorch": version}
    return record


def _text(value: float | str | None, scale: float) -> str:
    if isinstance(value, float):
        return f"{scale * value:.6g}" if math.isfinite(value) else ""
    return "" if value is None else str(value)


NANOSECONDS = 1e9
# Bencher's limits.
LONGEST_BENCHMARK = 1024
LONGEST_MEASURE = 64


def render_bencher(figures: Sequence[ExportedFigure]) -> str:
    """Return the object."""
    benchmarks: dict[str, dict[str, dict[str, float]]] = {}
    for figure in figures:
        measures = benchmarks.setdefault(_bencher_name(figure.title), {})
        measures[figure.measure[:LONGEST_MEASURE]] = _metric(figure)
    return json.dumps(benchmarks, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _bencher_name(title: str) -> str:
    """Return the title; one that is too long is cut, and stays different from those that begin like it."""
    if len(title) <= LONGEST_BENCHMARK:
        return title
    digest = hashlib.sha256(title.encode()).hexdigest()[:8]
    return f"{title[: LONGEST_BENCHMARK - len(digest) - 1]}…{digest}"


def _metric(figure: ExportedFigure) -> dict[str, float]:
    scale = NANOSECONDS if figure.unit == "s" else 1.0
    found = {"value": figure.value, "lower_value": figure.low, "upper_value": figure.high}
    return {name: scale * value for name, value in found.items() if value is not None and math.isfinite(value)}


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


EXPORTS: Mapping[str, Callable[[Sequence[ExportedFigure]], str]] = {
    "github-action-benchmark": render_github_action_benchmark,
    "bencher": render_bencher,
    "pytorch-hud": render_pytorch_hud,
}
"""What turns figures into the text that a service reads."""
