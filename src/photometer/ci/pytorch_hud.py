"""Figures as records of PyTorch's benchmark database (oss_ci_benchmark_v3), which its HUD reads.

A JSON array with a record per metric: `benchmark`, `model` and `metric`, each with a name, and `dependencies`. What
PyTorch's CI knows by itself is left to it: the time, the commit, the job, and the machine (`runners`). All values of
`extra_info` are texts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from photometer.ci.exported_figures import ExportedFigure

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
