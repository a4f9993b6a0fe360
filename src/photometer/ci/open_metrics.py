"""A comparison as OpenMetrics text, for GitLab's metrics report: one line per benchmark and figure of the branch.

GitLab keeps the file of every pipeline and shows in a merge request which figures differ from those of the target.
"""

from __future__ import annotations

from collections.abc import Iterator

from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.model.visible_text import visible_line


def render_open_metrics(comparison: EnvironmentComparison) -> str:
    """Return the text; figures that were not measured are left out."""
    by_name: dict[str, list[str]] = {}
    for result in comparison.results:
        label = visible_line(result.title).replace("\\", "\\\\").replace('"', '\\"')
        for name, value in _figures(result):
            by_name.setdefault(name, []).append(f'{name}{{benchmark="{label}"}} {value:.10g}')
    lines = [line for name, lines in by_name.items() for line in (f"# TYPE {name} gauge", *lines)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _figures(result: ComparisonResult) -> Iterator[tuple[str, float]]:
    if result.judged.replicates:
        yield "photometer_time_ratio", result.ratio
        yield "photometer_seconds", result.judged.base_seconds + result.difference_seconds
    if result.instructions is not None:
        yield "photometer_instructions", result.instructions.branch_per_run
    if result.memory is not None:
        yield "photometer_peak_bytes", result.memory.branch.peak_bytes
        yield "photometer_allocated_bytes", result.memory.branch.allocated_bytes
