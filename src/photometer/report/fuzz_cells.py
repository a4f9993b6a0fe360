"""A trial as the cells of a row, and the heads above them: the same in the terminal and on the page."""

from __future__ import annotations

import math

from photometer.analysis.fuzz_map import FuzzMap, figure_of
from photometer.model.fuzz_trial import FuzzTrial
from photometer.model.units import format_seconds
from photometer.model.visible_text import visible


def trial_heads(found: FuzzMap) -> list[str]:
    if found.is_comparison:
        return ["input", "ratio", "±", "time", "against", "what it is"]
    return ["input", "an element", "time", "what it is"]


def trial_cells(found: FuzzMap, trial: FuzzTrial) -> list[str]:
    """Plain text, for each renderer to lay out and escape."""
    times = [format_seconds(seconds, 3) for seconds in trial.seconds_per_run]
    if trial.log_ratio is None:
        figures = [format_seconds(math.exp(figure_of(trial)), 3)]
    else:
        figures = [f"{math.exp(trial.log_ratio):.2f}", f"{(trial.standard_error or 0.0) * 100:.1f}%"]
    return [f"#{trial.index}", *figures, *times, visible(found.describe(trial))]
