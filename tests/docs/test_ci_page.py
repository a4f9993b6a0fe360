"""docs/ci.md shows the very files that `photometer init` writes; every exit code and option in it exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from photometer.ci.first_files import COMMENT_WORKFLOW, GITHUB_WORKFLOW, GITLAB_JOB
from photometer.ci.project import read_project
from photometer.cli import build_app
from photometer.cli.exit_codes import OF_COMMANDS, exit_words
from tests.ci.action_steps import ACTION, ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text()


@pytest.mark.parametrize("text", [GITHUB_WORKFLOW.format(branch='"main"'), COMMENT_WORKFLOW, GITLAB_JOB])
def test_workflows_are_those_that_are_written(text: str) -> None:
    assert f"```yaml\n{text}```" in PAGE


def test_the_section_of_pyproject_is_understood(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(block)
    project = read_project(tmp_path)
    assert (project.margin, project.tags, len(project.thresholds)) == (0.003, ("ci",), 2)


def test_every_input_of_the_action_is_told() -> None:
    (table,) = re.findall(r"\| input \|.*?\n\n", PAGE, re.DOTALL)
    assert set(ACTION["inputs"]) <= set(re.findall(r"`([\w-]+)`", table))


def commands() -> list[tuple[str, str]]:
    app = build_app()
    found = [(str(each.name), str(each.epilog)) for each in app.registered_commands]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        name = group.typer_instance.info.name
        found += [(f"{name} {each.name}", str(each.epilog)) for each in group.typer_instance.registered_commands]
    return found


def test_every_help_tells_its_exit_status() -> None:
    wanted = re.compile(r"Exit status: 0 .*\b1 .*\b2 usage")
    assert not {name: epilog for name, epilog in commands() if not wanted.match(epilog)}


@pytest.mark.lengthy
def test_the_help_has_examples_and_shells_complete() -> None:
    photometer = Path(sys.executable).parent / "photometer"

    def output(*arguments: str, **variables: str) -> str:
        environment = {**os.environ, **variables}
        done = subprocess.run([photometer, *arguments], env=environment, capture_output=True, text=True, check=False)
        return done.stdout

    text = output("--help")
    assert "--install-completion" in text
    assert "  photometer compare\n" in text
    assert "Exit status: 0 fine" in text
    completed = output(_PHOTOMETER_COMPLETE="complete_bash", COMP_WORDS="photometer com", COMP_CWORD="1")
    assert completed.split() == ["compile-report", "compare", "comment"]


def test_the_table_of_exit_codes_names_commands_that_exist() -> None:
    known = {name for name, _ in commands()}
    assert set(OF_COMMANDS) <= known | {"doctor"}
    assert exit_words("show") == "Exit status: 0 fine, 1 something failed, 2 usage."
    page = (ROOT / "docs" / "exit-codes.md").read_text()
    for code, name in ((3, "compare"), (4, "compare"), (5, "compare"), (5, "init")):
        (row,) = re.findall(rf"^\| {code} \|.*$", page, re.MULTILINE)
        assert f"`{name}`" in row
