"""The formats of services that keep results of many commits, by the name that `--format` has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from photometer.ci.bencher import render_bencher
from photometer.ci.exported_figures import ExportedFigure
from photometer.ci.github_action_benchmark import render_github_action_benchmark
from photometer.ci.pytorch_hud import render_pytorch_hud

EXPORTS: Mapping[str, Callable[[Sequence[ExportedFigure]], str]] = {
    "github-action-benchmark": render_github_action_benchmark,
    "bencher": render_bencher,
    "pytorch-hud": render_pytorch_hud,
}
"""What turns figures into the text that a service reads."""
