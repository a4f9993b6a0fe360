from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from photometer.analysis.comparison_reader import read_comparison
from photometer.cli import main
from photometer.cli.show import MOST_PERCENTILES
from photometer.model.machine import Machine, TorchBuild
from photometer.model.measurement import Measurement
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import load_results
from photometer.model.task import TaskSpec
from photometer.report.comparison_text import render_comparison
from photometer.results import save
from tests.analysis.measurements import made
from tests.analysis.verdicts import verdict
from tests.model.test_device_measurement import measurement as device_measurement
from tests.photometer_command import status_of
from tests.test_results import COUNTS


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "base.json"
    measurements = [made(t * 1e-6, row, column) for t, row, column in [(1, "a", "x"), (3, "b", "x"), (9, "a", "y")]]
    ResultsFile.create(path, records=measurements, machine=Machine(cpu_model="Test <CPU>\x1b"), overwrite=True)
    return path


def run(*arguments: object) -> int:
    return status_of("show", *arguments)


def test_terminal_is_the_default(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(results) == 0
    out = capsys.readouterr().out
    assert "base.json: Test <CPU>\\x1b" in out
    assert "[-" in out
    assert "1 threads: --" in out
    assert "\x1b" not in out


def test_percentiles_follow_the_table_of_a_few_measurements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few, many = tmp_path / "few.json", tmp_path / "many.json"
    blocks = [10e-6 * n for n in range(1, 102)]
    save(few, [Measurement(10, blocks, TaskSpec("f()", "pass"))])
    save(many, [Measurement(10, blocks, TaskSpec(f"f({n})", "pass")) for n in range(MOST_PERCENTILES + 1)])
    assert run(few) == 0
    *_, row = [line for line in capsys.readouterr().out.splitlines() if line.startswith("f()")]
    assert " ".join(row.split()[1:]) == "51.0 µs 91.0 µs 96.0 µs 100 µs 101 blocks of 10 runs"
    assert run(few, "--markdown") == 0
    assert "blocks of 10 runs" in capsys.readouterr().out
    assert run(many) == 0
    shown = capsys.readouterr().out
    assert "blocks of 10 runs" not in shown
    assert shown.endswith("--percentiles shows the 50th, 90th, 95th and 99th percentile of each.\n")


@pytest.mark.parametrize(
    ("format", "mark"),
    [
        ("markdown", "| :--- |"),
        ("html", "<!DOCTYPE html>"),
        ("csv", "label,num_threads"),
        ("json", '"photometer-table"'),
    ],
)
def test_other_formats(results: Path, capsys: pytest.CaptureFixture[str], format: str, mark: str) -> None:
    assert run(results, f"--{format}") == 0
    out = capsys.readouterr().out
    assert mark in out
    assert "<CPU>" not in out


OPTION_OF = {"md": "markdown", "html": "html", "csv": "csv", "json": "json"}


def test_a_file_is_written_beside_what_is_printed(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for suffix in ("md", "html", "csv", "json"):
        run(results, f"--{OPTION_OF[suffix]}", tmp_path / f"t.{suffix}")
    assert capsys.readouterr().out.count("Times are in") == 4
    assert "| :--- |" in (tmp_path / "t.md").read_text()
    assert len(list(csv.reader(io.StringIO((tmp_path / "t.csv").read_text())))) == 4
    assert len(json.loads((tmp_path / "t.json").read_text())["tables"]) == 1
    assert run(results, "--markdown", tmp_path / "nowhere" / "t.md") == 1
    assert "cannot be written" in capsys.readouterr().err


def test_files_apart_with_ratios(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "branch.json"
    ResultsFile.create(other, records=[made(2e-6, "a", "x")], overwrite=True)
    assert run(results, other, "--by-file", "--baseline-env", "base", "--relative", "%") == 0
    out = capsys.readouterr().out
    assert "(branch)" in out
    assert "(+100%)" in out or "(+99." in out or "(+10" in out
    assert run(results, "--baseline", "nix") == 1
    assert "'nix' is not in the results" in capsys.readouterr().err


def test_transpose(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(results, "--transpose", "--json")
    assert json.loads(capsys.readouterr().out)["tables"][0]["columns"] == ["a", "b"]


def test_other_kinds_are_said_to_be_left_out(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ResultsFile(results).append({"kind": "failure"})
    assert run(results, "--json") == 0
    captured = capsys.readouterr()
    json.loads(captured.out)
    assert "1 of kind 'failure'" in captured.err


def test_a_measurement_without_samples_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "half.json"
    empty = Measurement(1, [], TaskSpec("f(x)", label="interrupted"))
    ResultsFile.create(path, records=[made(1e-6, "a", "x"), empty], overwrite=True)
    assert run(path) == 0
    captured = capsys.readouterr()
    assert f"{path}: not in the tables: 'interrupted' has no samples" in captured.err
    assert "interrupted" not in captured.out
    with pytest.raises(SystemExit) as stopped:
        main(["compare", str(path), str(path)])
    assert stopped.value.code == 1
    assert "it has no samples" in " ".join(capsys.readouterr().out.split())


def test_damaged_missing_and_empty_files(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results.write_bytes(results.read_bytes()[:-20])
    assert run(results) == 1
    assert "--recover" in capsys.readouterr().err
    assert run(results, "--recover") == 0
    assert "not a whole record" in capsys.readouterr().err
    assert run(tmp_path / "none.json") == 1
    assert "no such file" in capsys.readouterr().err
    empty = tmp_path / "empty.json"
    ResultsFile.create(empty)
    assert run(empty) == 1
    assert "no measurements" in capsys.readouterr().err


def test_other_formats_and_old_ones_are_usage_errors(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(results, "--format", "pdf") == 2
    capsys.readouterr()
    assert run(results, "--format", "json") == 2
    assert "--format json is now --json" in capsys.readouterr().err
    assert run(results, "--json", "--csv") == 2
    assert run(results, f"--json={results}") == 2
    assert "is a results file" in " ".join(capsys.readouterr().err.split())


def test_files_of_different_torch_are_not_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for version, microseconds in (("2.12.1", 1), ("2.13.0", 5)):
        paths.append(tmp_path / f"{version}.json")
        machine = Machine(torch=TorchBuild(version=version))
        ResultsFile.create(paths[-1], machine=machine, records=[made(microseconds * 1e-6, "a", "x")])
    assert run(*paths) == 0
    out = capsys.readouterr().out
    assert "(torch 2.12.1)" in out
    assert "(torch 2.13.0)" in out


def test_device_times_counts_and_rankings_are_in_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.json"
    save(path, [made(1e-6, "a", "x"), COUNTS, device_measurement(), verdict("slower", 1.5)])
    assert run(path, "--by-file") == 0
    captured = capsys.readouterr()
    for said in ("instructions", "120.00", "device hot", "second", "1.5"):
        assert said in captured.out, said
    assert "not in the tables" not in captured.err


MATRIX = Path(__file__).parents[1] / "analysis" / "data" / "matrix.json"


@pytest.mark.parametrize("as_folder", [False, True])
def test_a_comparison_is_shown_as_it_was_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, as_folder: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    kept = tmp_path / "comparison.json"
    kept.write_text(MATRIX.read_text())
    assert run(tmp_path if as_folder else kept) == 0
    compared = read_comparison(load_results(kept))
    assert compared is not None
    assert capsys.readouterr().out == render_comparison(compared, 90)


def test_a_comparison_in_other_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(MATRIX, "--markdown") == 0
    assert capsys.readouterr().out.count("|") > 20
    assert run(MATRIX, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["sides"] == ["pip:torch==2.11.0", "pip:torch==2.12.1", "pip:torch==2.13.0"]
    assert {each["kind"] for each in shown["results"]} == {"comparison", "comparison_failure"}
