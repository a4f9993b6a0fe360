from __future__ import annotations

from pathlib import Path

from photometer.model.results_folder import make_results_folder
from tests.repositories import git, make_repository


def test_git_does_not_see_results(tmp_path: Path) -> None:
    make_repository(tmp_path)
    make_results_folder(tmp_path / "photometer-results" / "standard")
    (tmp_path / "photometer-results" / "standard" / "results.json").write_text("{}")
    make_results_folder(tmp_path / "photometer-results" / "other")
    (tmp_path / "photometer-results" / "other" / "results.json").write_text("{}")
    assert git(tmp_path, "status", "--porcelain") == ""


def test_a_folder_of_the_user_is_left_alone(tmp_path: Path) -> None:
    make_results_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []
