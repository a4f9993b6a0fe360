"""Which rows and how wide an axis the overview figures have."""

from __future__ import annotations

import dataclasses

from photometer.report.page.overview_figures import forest, reach_of
from photometer.report.page.view_comparison import comparison_views
from tests.report.page.fake_results import comparison_records


def test_the_forest_keeps_what_matters_where_there_are_too_many() -> None:
    views = comparison_views(comparison_records())
    figure = forest(views)
    assert len(figure.rows) == 60
    assert [row.style for row in figure.rows[:3]] == ["slower"] * 3
    assert "60" in figure.title
    assert "152" in figure.title
    assert "cpp" in figure.rows[0].label


def test_one_outlier_does_not_press_the_others_together() -> None:
    views = comparison_views(comparison_records())
    assert 0.067 <= reach_of(views) <= 0.1
    wild = dataclasses.replace(views[0], ratio=40.0, interval=(39.0, 41.0))
    assert reach_of([wild, *views[1:]]) < 0.5
    assert reach_of([view for view in views if view.verdict == "same"]) == 0.02
