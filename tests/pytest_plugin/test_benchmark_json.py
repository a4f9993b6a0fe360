"""Files in pytest-benchmark's format, and its gates, which are refused: none of its options is ignored silently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from photometer.pytest_plugin.benchmark_json import machine_id
from tests.pytest_plugin.nested_session import run_nested

pytestmark = pytest.mark.lengthy

TESTS = """
    import pytest

    @pytest.mark.parametrize("size", [10, 20])
    def test_sum(benchmark, size):
        benchmark.extra_info["kind"] = "list"
        assert benchmark(sum, [1] * size) == size

    @pytest.mark.benchmark(group="sorting")
    def test_sorted(benchmark):
        benchmark(sorted, [3, 1, 2])
"""
QUICK = "--benchmark-max-time=0.01"
# Every name that pytest-benchmark 5 writes for a benchmark, and for its statistics.
NAMES = {"group", "name", "fullname", "params", "param", "extra_info", "options", "stats"}
STATISTICS = {
    *("min", "max", "mean", "stddev", "rounds", "median", "iqr", "q1", "q3", "iqr_outliers", "stddev_outliers"),
    *("outliers", "ld15iqr", "hd15iqr", "ops", "total", "iterations"),
}


def as_github_action_reads_it(content: dict[str, Any]) -> list[tuple[str, float, str]]:
    """Return the fields that github-action-benchmark reads (extractPytestResult): name, value, and the rest."""
    found = []
    for bench in content["benchmarks"]:
        stats = bench["stats"]
        extra = f"mean: {stats['mean']} sec\nrounds: {stats['rounds']}"
        found.append((bench["fullname"], float(stats["ops"]), f"stddev: {stats['stddev']}\n{extra}"))
    return found


def test_the_file_is_like_pytest_benchmarks_own(tmp_path: Path) -> None:
    outcome = run_nested(tmp_path, TESTS, QUICK, "--benchmark-json=out.json")
    assert outcome.code == 0
    assert "in pytest-benchmark's format: out.json" in outcome.output
    content = json.loads((tmp_path / "out.json").read_text())
    assert set(content) == {"machine_info", "commit_info", "benchmarks", "datetime", "version"}
    first, second, third = content["benchmarks"]
    assert set(first) == NAMES
    assert set(first["stats"]) == STATISTICS | {"data"}
    assert first["name"] == "test_sum[10]"
    assert first["fullname"].endswith(".py::test_sum[10]")
    assert (first["params"], first["param"], second["param"]) == ({"size": 10}, "10", "20")
    assert first["extra_info"] == {"kind": "list"}
    assert (first["group"], third["group"]) == (None, "sorting")
    assert first["stats"]["rounds"] == len(first["stats"]["data"])
    assert first["stats"]["min"] <= first["stats"]["median"] <= first["stats"]["max"]
    assert [name for name, _, _ in as_github_action_reads_it(content)] == [
        each["fullname"] for each in content["benchmarks"]
    ]
    assert all(value > 0 for _, value, _ in as_github_action_reads_it(content))


def test_sessions_are_kept_where_pytest_benchmark_looks(tmp_path: Path) -> None:
    for _ in range(2):
        assert run_nested(tmp_path, TESTS, QUICK, "--benchmark-save=my run", "--benchmark-storage=kept").code == 0
    files = sorted((tmp_path / "kept" / machine_id()).iterdir())
    assert [file.name for file in files] == ["0001_my_run.json", "0002_my_run.json"]
    assert "data" not in json.loads(files[0].read_text())["benchmarks"][0]["stats"]
    assert run_nested(tmp_path, TESTS, QUICK, "--benchmark-autosave", "--benchmark-save-data").code == 0
    (saved,) = (tmp_path / ".benchmarks" / machine_id()).iterdir()
    assert saved.name.startswith("0001_autosave_")
    assert "data" in json.loads(saved.read_text())["benchmarks"][0]["stats"]


@pytest.mark.parametrize(
    "option", ["--benchmark-compare", "--benchmark-compare=0001", "--benchmark-compare-fail=mean:5%"]
)
def test_gates_on_earlier_times_are_refused(tmp_path: Path, option: str) -> None:
    outcome = run_nested(tmp_path, TESTS, option)
    assert outcome.code == pytest.ExitCode.USAGE_ERROR
    assert "--photometer-compare BASE" in outcome.output
    assert outcome.outcomes == {}


def test_a_comparison_has_no_such_file(tmp_path: Path) -> None:
    outcome = run_nested(tmp_path, TESTS, "--photometer-compare=current", "--benchmark-json=out.json")
    assert outcome.code == pytest.ExitCode.USAGE_ERROR
    assert "--photometer-json FILE" in outcome.output


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    outcome = run_nested(tmp_path, TESTS, QUICK, "--benchmark-json=missing/out.json")
    assert outcome.code == pytest.ExitCode.USAGE_ERROR
    assert "there is no folder missing" in outcome.output
    assert outcome.outcomes == {}
