"""`photometer` without arguments."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from photometer.cli import main
from photometer.cli.first_page import first_page, last_results


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.photometer]\nsuite = "suite.py"\nbase = "git:merge-base:main"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def results(folder: Path, name: str, age: float = 0.0) -> Path:
    path = folder / "photometer-results" / name
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))
    return path


def commands(page: str) -> list[str]:
    return [line.split("  ")[1] for line in page.splitlines() if line.startswith("  photometer ")]


def test_a_project_with_a_suite(project: Path) -> None:
    results(project, "old/results.json", 2 * 86_400 + 60)
    page = first_page(project)
    facts = dict(
        line.split(maxsplit=1) for line in page.splitlines() if line.startswith("  ") and "photometer " not in line
    )
    assert facts["settings"] == "pyproject.toml"
    assert facts["suite"] == "suite.py"
    assert facts["base"] == "git:merge-base:main"
    assert facts["results"] == "photometer-results/old/results.json, written 2 days ago"
    assert commands(page) == [
        "photometer run",
        "photometer compare",
        "photometer list",
        "photometer show photometer-results/old",
    ]


def test_the_newest_results_count(project: Path) -> None:
    results(project, "a/results.json", 60.0)
    newest = results(project, "b/comparison.json")
    results(project, "c/results.json", 3600.0)
    assert last_results(project) == newest


def test_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert [each.split()[1] for each in commands(printed)] == ["time", "ab", "init"]
    assert "This project has" not in printed


def test_settings_that_are_wrong_are_named(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.photometer]\nsuit = "suite.py"\n')
    page = first_page(project)
    assert "suit" in page.split("Next:")[0]
    assert commands(page)
