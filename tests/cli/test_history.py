"""`photometer history`: a store made in a project, filled from files, looked at and tidied, by the command itself."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from photometer.cli import main
from photometer.history.store import open_store
from photometer.model.results_file import ResultsFile
from tests.history.project import Project
from tests.history.records import counts, header, times
from tests.history.site.made_history import fill_store, some_benchmarks
from tests.history.site.read_site import site_data
from tests.photometer_command import COMMAND, status_of


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path / "project")
    made.grow(4)
    monkeypatch.chdir(made.folder)
    monkeypatch.delenv("PHOTOMETER_STORE", raising=False)
    return made


def photometer(*arguments: object) -> int:
    return status_of("history", *arguments)


def results(folder: Path, name: str, commit: str, instructions: int) -> Path:
    """A results file as `run` leaves it."""
    path = folder / f"{name}.json"
    head = {key: value for key, value in header(name).items() if key not in ("format", "version")}
    head["run"]["commit"] = commit
    machine = head.pop("machine")
    ResultsFile.create(path, head, records=[counts("work", instructions), times("work", 1e-6)])
    text = path.read_text()
    path.write_text(text.replace('"version": 1,', '"version": 1, "machine": ' + json.dumps(machine) + ",", 1))
    return path


@pytest.fixture
def filled(project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    assert photometer("create") == 0
    files = [results(tmp_path, f"r{n}", sha, 12_000 + 600 * (n >= 2)) for n, sha in enumerate(project.shas)]
    assert photometer("add", *files) == 0
    capsys.readouterr()
    return project


def test_create_makes_a_store_that_git_does_not_see(project: Project) -> None:
    assert photometer("create") == 0
    assert (project.folder / ".photometer" / "history.sqlite").exists()
    assert project.git("status", "--porcelain") == ""
    assert photometer("create") == 0


def test_all_commands_use_the_store_that_the_project_names(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.folder / "pyproject.toml").write_text('[tool.photometer]\nstore = "named.sqlite"\n')
    assert photometer("create") == 0
    assert (project.folder / "named.sqlite").exists()
    assert not (project.folder / ".photometer").exists()
    file = results(project.folder, "one", project.shas[0], 12_000)
    for words in (("add", file), ("runs",), ("curves",), ("verify",), ("changes",), ("publish", "site")):
        capsys.readouterr()
        assert photometer(*words) == 0, (words, capsys.readouterr())


def test_without_a_store_the_remedy_is_named(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert photometer("runs") == 1
    assert "photometer history create" in capsys.readouterr().err


def test_adding_files_again_says_that_they_were_there(
    filled: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert photometer("add", tmp_path / "r0.json", tmp_path / "none.json") == 1
    told = capsys.readouterr()
    assert "0 new results, 2 were already there" in told.out
    assert "there is no such file" in told.err


def runs_in(listed: str) -> list[str]:
    """The numbers of the runs in a list; long rows take two lines."""
    return re.findall(r"^ *(\d+)  \d{4}-", listed, re.MULTILINE)


def test_runs_and_curves(filled: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert photometer("runs") == 0
    listed = capsys.readouterr().out
    assert len(runs_in(listed)) == 4
    assert filled.shas[3][:10] in listed
    assert photometer("curves", "-k", "work", "--metric", "instructions") == 0
    shown = capsys.readouterr().out
    assert "instructions: 4 commits" in shown
    assert "120 (" in shown
    assert "126  exact  change 3" in shown.replace("   ", "  ")
    assert photometer("curves", "-k", "nothing") == 5


def test_changes_name_the_commit_and_as_json_all_there_is(filled: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert photometer("changes") == 0
    told = capsys.readouterr().out
    assert "+5.0 %  toy › work, instructions: 120 → 126 (exact)" in told
    assert f"{filled.shas[2][:10]} change 2 (Ada)" in told
    assert photometer("changes", "--json", "--metric", "instructions") == 0
    (record,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (record["first_commit"], record["is_one_commit"], record["exact"]) == (filled.shas[2], True, True)


def test_a_commit_that_is_not_measured_makes_an_interval(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photometer("create")
    photometer("add", results(tmp_path, "a", project.shas[0], 100), results(tmp_path, "b", project.shas[3], 200))
    capsys.readouterr()
    assert photometer("changes", "--metric", "instructions") == 0
    assert f"one of 3 commits after {project.shas[0][:10]} up to {project.shas[3][:10]}" in capsys.readouterr().out


def test_diff_takes_revisions(filled: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert photometer("diff", "HEAD~3", "HEAD") == 0
    assert "+5.0 %" in capsys.readouterr().out
    assert photometer("diff", "HEAD~3", "HEAD~2") == 0
    assert "0 changed, 2 the same" in capsys.readouterr().out


def test_tables_are_printed_in_every_shape_or_written(
    filled: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert photometer("runs", "--json", "--rows", "2") == 0
    listed = json.loads(capsys.readouterr().out)["rows"]
    assert [row["commit"] for row in listed] == [sha[:10] for sha in reversed(filled.shas[2:])]
    assert listed[0]["results"] == 2
    assert photometer("curves", "--csv", "--metric", "instructions", "--points", "3") == 0
    heads, *lines = csv.reader(capsys.readouterr().out.splitlines())
    rows = [dict(zip(heads, line, strict=True)) for line in lines]
    assert [(row["commit"], float(row["value"])) for row in rows] == [
        (sha[:10], value) for sha, value in zip(filled.shas[1:], (120, 126, 126), strict=True)
    ]
    assert {(row["benchmark"], row["unit"]) for row in rows} == {("toy › work", "instructions")}
    assert photometer("diff", "HEAD~3", "HEAD", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["change"], row["before"], row["after"], row["unit"]) == (0.05, 120, 126, "instructions")
    assert photometer("diff", "HEAD~3", "HEAD", "--markdown", tmp_path / "diff.md") == 0
    assert "+5.0 %" in capsys.readouterr().out
    written = (tmp_path / "diff.md").read_text()
    assert "+5.0 %" in written
    assert "not measured side by side" in written


def test_prune_asks_first(filled: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert photometer("prune", "--run", "1") == 0
    assert "1 runs would be deleted" in capsys.readouterr().err
    assert photometer("prune", "--run", "1", "--yes") == 0
    photometer("runs")
    # The one that is deleted, and the three that remain.
    assert len(runs_in(capsys.readouterr().out)) == 1 + 3
    assert photometer("prune") == 1


def test_verify_and_export(filled: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert photometer("verify") == 0
    assert "commits: 4" in capsys.readouterr().out
    assert photometer("export", "-o", tmp_path / "out") == 0
    assert len(list((tmp_path / "out").glob("*.json"))) == 4
    assert photometer("export", "--csv", tmp_path / "all.csv") == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + 4 * 5


def test_the_variable_names_a_store(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PHOTOMETER_STORE", str(tmp_path / "elsewhere.sqlite"))
    assert photometer("create") == 0
    assert (tmp_path / "elsewhere.sqlite").exists()
    assert not (project.folder / ".photometer").exists()


@pytest.mark.slow
def test_run_writes_to_the_projects_store_as_it_measures(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    photometer("create")
    monkeypatch.setenv("PYTHONPATH", str(project.folder))
    options = ["--no-instructions", "--min-run-time", "0.01", "-q", "-k", "rest", "-o", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as stopped:
        main(["run", str(project.suite), *options])
    assert not stopped.value.code
    assert photometer("runs") == 0
    assert project.shas[3][:10] in capsys.readouterr().out
    # The file that was written meanwhile holds the same run.
    assert photometer("add", tmp_path / "out" / "results.json") == 0
    assert "0 new results" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["run", str(project.suite), *options, "--store", "none"])
    photometer("runs")
    assert len(runs_in(capsys.readouterr().out)) == 1


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "history.sqlite"
    with open_store(path, create=True) as store:
        fill_store(store, some_benchmarks(20), 20)
    return path


def test_publish_says_what_it_wrote_and_where(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTOMETER_STORE", str(place))
    with pytest.raises(SystemExit) as ended:
        main(["history", "publish", str(tmp_path / "a" / "site"), "--commit-url", "https://forge.example/c/{sha}"])
    assert ended.value.code == 0
    said = capsys.readouterr()
    assert said.out == f"{tmp_path}/a/site/index.html\n"
    assert said.err.startswith("4 benchmarks, 20 commits, 5 changes: 29 files, ")
    index = site_data(tmp_path / "a" / "site" / "index.html", "index")
    assert index["title"] == "forge.example/torch"
    assert index["commit_url"] == "https://forge.example/c/{sha}"


def test_a_bad_pattern_or_store_is_an_error_with_a_remedy(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options, words in (
        (["--store", str(place), "--commit-url", "file:///{sha}"], "must begin with https"),
        (["--store", str(tmp_path / "none.sqlite")], "there is no history store"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["history", "publish", str(tmp_path / "site"), *options])
        assert ended.value.code == 1
        assert words in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_a_folder_that_cannot_be_made_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["history", "publish", str(place / "site"), "--store", str(place)])
    assert ended.value.code == 1
    assert "cannot be written to" in capsys.readouterr().err


@pytest.mark.slow
def test_serve_says_its_address_and_ends_on_ctrl_c(place: Path) -> None:
    command = [*COMMAND, "history", "serve", "--store", str(place), "--port", "0"]
    served = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}data/index.js", timeout=60) as reply:
            assert reply.read().startswith(b'photometerData("index"')
    finally:
        served.send_signal(signal.SIGINT)
        _, said = served.communicate(timeout=60)
    assert served.returncode == 0, said
    assert "Traceback" not in said
