"""-L and --where as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from photometer.cli.sweep_options import sizes_code, statement_curves
from photometer.model.measurement import Measurement
from photometer.model.results_reader import load_results
from photometer.model.task import TaskSpec
from tests.photometer_command import photometer, status_of

SUITE = """
from photometer import GroupedSetup, GroupedStmts

BENCHMARKS = {
    "add": GroupedStmts(
        "z = x + y\\nelements = z.numel()",
        setup=GroupedSetup("x = torch.rand(n)\\ny = torch.rand(n)"),
        sizes={"n": (1, 2)},
        metrics="elements",
    ),
}
"""


def test_sizes_as_code_of_either_language() -> None:
    point = (("n", 4), ("kind", "sum"))
    assert sizes_code(point, "python") == "n = 4\nkind = 'sum'"
    assert "n = 4;" in sizes_code(point, "cpp")
    assert sizes_code((), "python") == ""


def test_curves_of_statements_need_one_axis_of_numbers() -> None:
    times = [Measurement(1, [1e-6 * n, 1.01e-6 * n], TaskSpec(stmt)) for n in (4, 1) for stmt in ("a", "b")]
    first, second = statement_curves([(("n", 4),), (("n", 1),)], ["a", "b"], times)
    assert (first.name, second.name) == ("a", "b")
    assert [point.x for point in first.points] == [1.0, 4.0]
    assert first.points[1].y > first.points[0].y
    assert statement_curves([(("n", 4), ("m", 1))], ["a", "b"], times[:2]) == []
    assert statement_curves([(("kind", "x"),)], ["a", "b"], times[:2]) == []


@pytest.mark.parametrize(
    "options",
    [
        ("-L", "n=1..1e12"),
        ("-L", "n=1..1e12+1"),
        ("-L", "n"),
        ("-L", "n=1,2", "--where", "n <"),
        ("-L", "n=1,2", "--where", "m > 1"),
        ("-L", "n=1,2", "--where", "n > 9"),
        ("-L", "n=1,2", "--where", "-" * 900 + "n"),
        ("-L", "n=1,2", "--where", "9**64" + "**64" * 5),
    ],
)
@pytest.mark.parametrize("command", [("time", "n"), ("ab", "n", "n + 1"), ("compile-report", "n"), ("run", "suite.py")])
def test_sizes_and_filters_that_cannot_be_meant_are_usage_errors(
    command: tuple[str, ...],
    options: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("suite.py").write_text(SUITE)
    assert status_of(*command, *options) == 2
    said = capfd.readouterr().err
    assert "Usage:" in said
    assert ".py:" not in said.replace("suite.py", "")


def test_time_measures_every_statement_at_every_size(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("time", "x * 2", "x + x", "-s", "x = n", "-L", "n=1,2,3", "--min-run-time", "0.002")
    assert status_of(*arguments, "--json") == 0
    specs = [json.loads(line)["task_spec"] for line in capsys.readouterr().out.splitlines()]
    assert [(spec["sub_label"], spec["description"]) for spec in specs] == [
        (f"n={n}", stmt) for n in (1, 2, 3) for stmt in ("x * 2", "x + x")
    ]
    assert status_of(*arguments) == 0
    assert "n=2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("time", "pass", "-L", "n=1..2"), "is not a value"),
        (("time", "pass", "-L", "n=1", "-L", "n=2"), "twice"),
        (("time", "pass", "-L", "n=1", "--where", "n > 1"), "no point"),
        (("run", "standard", "-L", "zz=1"), "called zz"),
    ],
)
def test_mistakes_are_said(arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(*arguments) == 2
    assert said in capsys.readouterr().err


def test_a_filter_without_sizes_is_a_mistake_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of("time", "pass", "--where", "n > 1") == 2


def output_of(folder: Path, *arguments: str) -> str:
    done = photometer(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.warm
def test_run_takes_other_sizes_and_shows_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    options = ("--no-instructions", "--min-run-time", "0.01", "-o", "results")
    shown = output_of(tmp_path, "run", "suite.py", "-L", "n=16..1024*4", "--where", "n < 1000", *options)
    assert "add [n=256]" in shown
    assert "n=1024" not in shown
    assert "Metrics" in shown
    assert load_results(tmp_path / "results" / "results.json").kinds["metrics"] == 3
    lines = output_of(tmp_path, "show", "results/results.json", "--variants").splitlines()
    assert [line.split(",")[6] for line in lines] == ["n", "16", "64", "256"]


@pytest.mark.nightly
def test_rates_and_ab_over_sizes(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    options = ("--no-instructions", "--min-run-time", "0.01", "-o", "results")
    shown = output_of(tmp_path, "run", "suite.py", "--rates", *options)
    assert "Peak: cpu, 1 thread" in shown
    assert "memory" in shown
    compared = output_of(
        tmp_path, "ab", "x + 1", "x.exp()", "-s", "x = torch.rand(n)", "-L", "n=8,65536", "--budget", "3"
    )
    assert "Over all points:" in compared
    assert "n = 65,536" in compared
