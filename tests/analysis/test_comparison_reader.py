"""A comparison is read from its file: of two sides, of more, and as earlier versions wrote it; damage is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import photometer
from photometer.analysis.comparison_reader import read_comparison
from photometer.analysis.comparison_result import (
    ComparisonFailure,
    ComparisonRemarks,
    ComparisonSkip,
    EnvironmentComparison,
)
from photometer.analysis.figure_change import judge_metric
from photometer.cli import main
from photometer.errors import ResultsFileError
from photometer.model.records import to_record
from photometer.model.results_file import ResultsFile
from photometer.model.results_format import Recordable
from photometer.model.results_reader import load_results
from photometer.report.matrix_text import headline
from tests.analysis.verdicts import result, verdict

# Made by the last version in which comparisons of many sides had a file of their own.
OLD_MATRIX = Path(__file__).parent / "data" / "matrix.json"
THREE = {"comparison": {"suite": "s", "margin": 0.003, "false_discovery_rate": 0.05, "names": ["a", "b", "c"]}}


def read(path: Path) -> EnvironmentComparison:
    found = read_comparison(load_results(path))
    assert found is not None
    return found


def written(path: Path, header: dict[str, Any], *records: Recordable) -> Path:
    return ResultsFile.create(path, header, records=records, overwrite=True).path


def test_many_sides_are_read_as_they_were_written(tmp_path: Path) -> None:
    results = (
        result("same", title="add"),
        result("slower", 1.2, "add", side=2, before=1, step=verdict("slower", 1.1)),
        result("faster", 0.8, "mul", side=2),
    )
    failure = ComparisonFailure("id of mul", "mul", "b", "ValueError: no", place=1)
    metric = judge_metric("id of add", "add", "loss", [1.0], [1.5], side=2)
    remarks = (ComparisonRemarks(("first",)), ComparisonRemarks(("first", "careful")))
    found = read(written(tmp_path / "r.json", THREE, *results, failure, metric, *remarks))
    assert (found.names, found.suite, found.margin, found.false_discovery_rate) == (("a", "b", "c"), "s", 0.003, 0.05)
    assert (found.results, found.failures, found.metrics) == (results, (failure,), (metric,))
    assert found.warnings == ("first", "careful")
    assert found.not_reached == ()


def test_the_later_verdict_of_a_benchmark_and_a_side_counts(tmp_path: Path) -> None:
    other = result("same", side=2)
    found = read(written(tmp_path / "r.json", THREE, result("undecided"), other, result("same"), other))
    assert [(each.side, each.verdict) for each in found.results] == [(1, "same"), (2, "same")]


def test_what_has_neither_a_verdict_nor_a_failure_was_not_reached(tmp_path: Path) -> None:
    failure = ComparisonFailure("id of mul", "mul", "a", "ValueError: no", place=0)
    found = read(written(tmp_path / "r.json", THREE, result("same"), failure))
    assert found.not_reached == ("add on c",)
    assert found.of_side(2).not_reached == ("add",)


def test_what_was_skipped_on_one_side_or_on_all_is_not_missing(tmp_path: Path) -> None:
    skips = (
        ComparisonSkip("id of mul", "mul", "c", "needs AVX", place=2),
        ComparisonSkip("id of div", "div", "", "never"),
    )
    both = (result("same"), result("same", side=2, before=1, step=verdict("same")), result("same", title="mul"))
    found = read(written(tmp_path / "r.json", THREE, *both, *skips))
    assert (found.skips, found.skipped, found.not_reached, found.failures) == (skips, 2, (), ())
    assert (found.outcome, found.verdict) == ("fine", "same")
    first, second = found.pairs
    assert [each.title for each in first.skips] == ["div"]
    assert {each.title: each.side for each in second.skips} == {"mul": "branch", "div": ""}
    assert [each.title for each in found.titled_by_side().skips] == ["mul on c", "div"]


def test_two_sides_have_their_names_or_as_before_their_specs(tmp_path: Path) -> None:
    sides = {"base": {"spec": "git:main", "commit": "abc"}, "branch": {"spec": "git:mine"}}
    old = read(written(tmp_path / "old.json", {"comparison": {"suite": "s", **sides}}, result("same")))
    assert (old.names, old.margin) == (("git:main", "git:mine"), 0.0)
    assert [(each.side, each.before, each.step) for each in old] == [(1, 0, None)]
    new = read(written(tmp_path / "new.json", {"comparison": {"names": ["x", "y"], **sides}}, result("same")))
    assert new.names == ("x", "y")


def test_another_file_is_no_comparison(tmp_path: Path) -> None:
    assert read_comparison(load_results(written(tmp_path / "r.json", {"run": {}}))) is None


@pytest.mark.parametrize(
    "record",
    [
        result("same", side=3),
        result("same", side=0),
        result("same", side=-1),
        result("same", side=1, before=1),
        result("same", side=2, before=-1),
        ComparisonFailure("id", "add", "d", "no", place=3),
        judge_metric("id", "add", "loss", [1.0], [1.5], side=5),
    ],
    ids=str,
)
def test_sides_that_the_header_does_not_have_are_damage(record: Recordable, tmp_path: Path) -> None:
    with pytest.raises(ResultsFileError, match="do not match the sides"):
        read(written(tmp_path / "r.json", THREE, record))


def test_a_file_of_many_sides_of_an_earlier_version() -> None:
    found = read(OLD_MATRIX)
    assert found.names == ("pip:torch==2.11.0", "pip:torch==2.12.1", "pip:torch==2.13.0")
    assert (found.suite, found.margin, found.false_discovery_rate, found.measuring_seconds) == (
        "standard",
        0.003,
        0.05,
        12.5,
    )
    assert found.warnings == ("the machine was busy",)
    rows = {row.title: row for row in found.rows}
    assert {title: {side: cell.verdict for side, cell in row.cells.items()} for title, row in rows.items()} == {
        "add": {1: "same", 2: "slower"},
        "new": {2: "identical"},
        "broken": {},
        "late": {1: "same"},
    }
    slower = rows["add"].cells[2]
    assert (slower.before, slower.latest.ratio, slower.judged.ratio) == (1, 1.079, 1.08)
    assert slower.instructions is not None
    assert "at::add" in slower.cause
    assert [cell.side for cell in rows["add"].changes] == [2]
    # A step from the reference is the verdict itself.
    assert rows["add"].cells[1].step is None
    assert rows["add"].warnings == ("results differ",)
    assert {place: failure.message for place, failure in rows["new"].failures.items()} == {1: "AttributeError: not yet"}
    assert list(rows["broken"].failures) == [0]
    assert found.not_reached == ("late on pip:torch==2.13.0",)
    assert headline(found) == "Slower than 2.11.0: 2.13.0 in 1 of 4 benchmarks."


def test_an_old_file_of_many_sides_is_loaded_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [(each.title, each.side) for each in photometer.load(OLD_MATRIX)] == [
        ("add", 1),
        ("add", 2),
        ("new", 2),
        ("late", 1),
    ]
    page = tmp_path / "report.html"
    with pytest.raises(SystemExit) as ended:
        main(["report", str(OLD_MATRIX), "-o", str(tmp_path)])
    assert not ended.value.code
    assert "Slower than 2.11.0: 2.13.0 in 1 of 4 benchmarks." in capsys.readouterr().out
    assert "AttributeError: not yet" in page.read_text()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"cells": []}, "do not match the sides"),
        ({"cells": "many"}, "matrix_row"),
        ({"cells": [1, 2]}, "matrix_row"),
        ({"cells": [{"side": 1}, {"side": 1}]}, "do not match the sides"),
        (
            {"cells": [{"side": 1}, {"side": 2, "before": 2, "judged": to_record(verdict("same"))}]},
            "do not match the sides",
        ),
        ({"cells": [{"side": 1, "judged": {}}, {"side": 2}]}, "matrix_row"),
        ({"title": 1}, "title"),
    ],
)
def test_damage_of_an_old_file_is_named(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    content = json.loads(OLD_MATRIX.read_text())
    content["records"][0].update(changes)
    path = tmp_path / "matrix.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ResultsFileError, match=told):
        read(path)
    content["matrix"]["sides"] = 3
    path.write_text(json.dumps(content))
    with pytest.raises(ResultsFileError):
        read(path)
