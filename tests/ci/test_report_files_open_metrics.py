"""GitLab's metrics: one line per figure, hostile labels included."""

from __future__ import annotations

import re

from photometer.ci.report_files import render_open_metrics
from tests.ci.reviews import everything, many_sides


def test_metrics_are_one_line_per_figure() -> None:
    lines = render_open_metrics(everything().comparison).splitlines()
    assert lines[-1] == "# EOF"
    line = re.compile(r'photometer_[a-z_]+\{benchmark="(?:[^"\\\n]|\\\\|\\")*"\} [-+0-9.e]+')
    assert all(each.startswith("# TYPE photometer_") or line.fullmatch(each) for each in lines[:-1])
    assert 'photometer_seconds{benchmark="add"} 1.1e-06' in lines
    assert 'photometer_instructions{benchmark="add"} 1100' in lines


def test_every_side_has_lines_of_its_own() -> None:
    lines = render_open_metrics(many_sides().comparison).splitlines()
    assert 'photometer_seconds{benchmark="add on b"} 1e-06' in lines
    assert sum(line.startswith("photometer_seconds{") for line in lines) == 2
