"""`photometer --version`: the version, with the commit of a checkout and not that of a project around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer import __version__
from photometer.cli import main
from photometer.cli.version import LETTERS, commit_of
from photometer.git import git_text
from tests.repositories import make_repository


def test_a_package_has_the_commit_of_its_own_checkout_alone(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project", {"package/__init__.py": "", ".gitignore": ".venv\n"})
    commit = git_text(repository, "rev-parse", "HEAD")[:LETTERS]
    assert commit_of(repository / "package") == commit
    (repository / "package" / "__init__.py").write_text("x = 1")
    assert commit_of(repository / "package") == f"{commit} with changes"
    installed = repository / ".venv" / "package"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert commit_of(installed) == ""
    (tmp_path / "elsewhere").mkdir()
    assert commit_of(tmp_path / "elsewhere") == ""


def test_the_version_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.split()[0] == __version__
