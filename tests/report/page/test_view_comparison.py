from __future__ import annotations

import math

import pytest

from photometer.analysis.comparison_result import ComparisonFailure
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.records import to_record
from photometer.report.page.view_comparison import comparison_views, without_verdict
from photometer.report.page.view_report import report_view
from tests.analysis.verdicts import verdict
from tests.report.page.fake_results import comparison_records, loaded, run_records


def test_what_matters_comes_first_with_its_evidence() -> None:
    views = comparison_views(comparison_records())
    words = [view.verdict for view in views]
    assert words[:7] == ["slower"] * 3 + ["undecided"] * 2 + ["faster"] * 2
    assert set(words[7:]) == {"same"}
    worst = views[0]
    assert worst.ratio == pytest.approx(1.067)
    assert worst.instruction_ratio == pytest.approx(1.083)
    assert worst.functions[0][1] == "at::TensorIteratorBase::build"
    assert worst.layout_band is not None
    assert worst.layout_band.layouts == 3
    assert len(worst.base.samples) == len(worst.branch.samples) == 120
    assert worst.base.stacks
    assert worst.sentence.startswith("Slower by 6.7 %")
    assert worst.cause.startswith("More instructions and slower")


def test_samples_of_other_layouts_are_not_among_the_frozen_ones() -> None:
    records = comparison_records()
    for record in records:
        if record["kind"] == "comparison_replicate":
            record["layout"] = 1
    assert all(view.base.samples == () for view in comparison_views(records))


def test_many_sides_in_one_of_several_files_are_distinct() -> None:
    """Alone, such a file has a page of its own; beside others, each side is a benchmark against the reference."""
    record = next(record for record in comparison_records() if record["kind"] == "comparison")
    seconds = {0: [1e-6] * 3, 2: [2e-6] * 3}
    replicate = ComparisonReplicate.from_seconds(
        record["order_id"], 100, seconds, measuring_seconds=0.1, whole_seconds=0.2
    )
    records = [record, {**record, "side": 2, "verdict": to_record(verdict("slower", 2.0))}, to_record(replicate)]
    about = {"names": ["v1", "v2", "v3"], "sides": [{}, {}, {}], "suite": "standard"}
    shown = report_view([loaded(records, "many.json", comparison=about), loaded(run_records(), "run.json")])
    slower, other = shown.comparisons
    assert (slower.verdict, slower.base.samples, slower.branch.samples) == ("slower", (1e-6,) * 3, (2e-6,) * 3)
    assert other.base.samples == other.branch.samples == ()
    assert slower.id != other.id
    assert ("many v3" in slower.words, "many v2" in other.words) == (True, True)


def test_the_later_verdict_on_a_benchmark_counts() -> None:
    records = [record for record in comparison_records() if record["kind"] == "comparison"][:1]
    later = {**records[0], "verdict": {**records[0]["verdict"], "verdict": "faster"}}
    [view] = comparison_views([*records, later])
    assert view.verdict == "faster"


def test_an_end_that_is_not_known_stays_so() -> None:
    record = next(record for record in comparison_records() if record["kind"] == "comparison")
    unknown = {**record, "verdict": {**record["verdict"], "interval": [0.9, None], "detectable": None}}
    [view] = comparison_views([unknown])
    assert view.interval == (0.9, math.inf)
    assert view.detectable is None


def test_a_benchmark_that_failed_names_its_side() -> None:
    failure = ComparisonFailure("1", "maths › add", "branch", "it died", "log")
    [skip] = without_verdict([to_record(failure)], failure.KIND)
    assert (skip.title, skip.reason, skip.log) == ("maths › add", "on the branch side: it died", "log")


@pytest.mark.parametrize("about", [{"base": "main"}, {"branch": "b"}, {"names": ["one"]}, {"names": 3, "base": "x"}])
def test_a_header_that_names_one_side_only_has_the_files_title(about: dict[str, object]) -> None:
    untitled = report_view([loaded(run_records())]).title
    assert report_view([loaded(run_records(), comparison=about)]).title == untitled
