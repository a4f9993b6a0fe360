"""`[tool.photometer]`: found from below, paths seen from here, and nothing misspelt goes unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.analysis.gate import rules_for
from photometer.ci.project import ProjectSettings, read_project
from photometer.cli import main
from photometer.errors import DefinitionError
from photometer.model.fail_rules import FailRule

SECTION = """
[tool.photometer]
suite = "benchmarks/suite.py:OTHER"
base = "git:merge-base:develop"
margin = "0.5%"
fail-on = ["slower:2%", "memory:0"]
store = ".photometer/history.sqlite"
budget = 60
limit = 300.5
python = "3.12"
tags = ["ci"]

[[tool.photometer.thresholds]]
tag = "noisy"
margin = 0.02
fail-on = "slower:10%"

[[tool.photometer.thresholds]]
benchmark = "matmul*"
fail-on = "never"
"""


def write(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_the_section_is_found_from_a_folder_below(tmp_path: Path) -> None:
    write(tmp_path, SECTION)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "suite.py").touch()
    project = read_project(tmp_path / "benchmarks")
    assert project.suite == f"{tmp_path / 'benchmarks' / 'suite.py'}:OTHER"
    assert project.store == str(tmp_path / ".photometer/history.sqlite")
    assert (project.base, project.margin, project.budget, project.limit) == ("git:merge-base:develop", 0.005, 60, 300.5)
    assert (project.python, project.tags) == ("3.12", ("ci",))
    assert project.rules == (FailRule("slower", 0.02), FailRule("memory"))
    assert project.margin_by_tag == {"noisy": 0.02}


def test_a_project_without_the_section_says_nothing(tmp_path: Path) -> None:
    write(tmp_path, SECTION)
    inner = tmp_path / "inner"
    (inner / ".git").mkdir(parents=True)
    write(inner, "[project]\nname = 'x'\n")
    # What lies above the root of a repository is another project.
    assert read_project(inner) == ProjectSettings()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("fail_on = 'slower'", "Did you mean fail-on"),
        ("margin = 5", "share"),
        ("margin = true", "share"),
        ("budget = -1", "greater than 0"),
        ("tags = [1]", "a list of strings"),
        ("suite = ''", "a string"),
        ("fail-on = 'faster'", "fail-on in \\[tool.photometer\\]: there is no rule 'faster'"),
        ("thresholds = 1", "tables"),
        ("[[tool.photometer.thresholds]]\nmargin = 0.1", "needs a benchmark or a tag"),
        ("[[tool.photometer.thresholds]]\ntag = 'a'\nmargn = 0.1", "Did you mean margin"),
        ("suite = ", "cannot be read"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read_project(write(tmp_path, f"[tool.photometer]\n{line}\n"))
    import re

    assert re.search(told, str(caught.value)), str(caught.value)
    assert "pyproject.toml" in str(caught.value)


def test_thresholds_of_tags_and_names_replace_rules_of_their_kind(tmp_path: Path) -> None:
    project = read_project(write(tmp_path, SECTION))
    assert project.rules is not None

    def rules(title: str, *tags: str) -> list[str]:
        return [str(rule) for rule in rules_for(project.rules or (), project.thresholds, title, tags)]

    assert rules("add") == ["slower:2%", "memory"]
    assert rules("add", "noisy") == ["memory", "slower:10%"]
    assert rules("matmul large", "noisy") == []


@pytest.mark.parametrize("suite", ["a" * 300, "a\\u0000b", "a/" * 3000])
def test_what_can_be_no_path_stays_as_it_is(suite: str, tmp_path: Path) -> None:
    write(tmp_path, f'[tool.photometer]\nsuite = "{suite}"\n')
    assert read_project(tmp_path).suite == suite.replace("\\u0000", "\0")


def test_a_suite_with_a_name_that_is_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, f'[tool.photometer]\nsuite = "{"a" * 300}"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["list"])
    assert ended.value.code == 1
    assert "there is no suite called" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["keep = 1" + "0" * 400, "suite = " + "[" * 3000], ids=["long number", "nested"])
def test_a_number_too_large_and_lists_too_deep_are_refused_in_words(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.photometer]\n{text}\n")
    with pytest.raises(DefinitionError, match=r"pyproject\.toml"):
        read_project(tmp_path)
