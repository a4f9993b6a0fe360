"""What pyproject.toml promises: extras that exist, `all` that is complete, one place for the version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

tomllib = pytest.importorskip("tomllib", reason="tomllib is of Python 3.11")

ROOT = Path(__file__).parents[2]
# torch is the user's own build, ray is large; the others are for those who change photometer.
NOT_FOR_ALL = {"torch", "ray", "dev", "docs", "all"}


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def named(requirement: str) -> set[str]:
    """Return the extras of photometer that a requirement names."""
    return set(requirement.removeprefix("photometer[").removesuffix("]").split(","))


def test_all_has_every_extra_of_users(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    found: set[str] = set()
    wanted = [name for requirement in extras["all"] for name in named(requirement)]
    while wanted:
        name = wanted.pop()
        found.add(name)
        wanted += [
            inner
            for each in extras[name]
            if each.startswith("photometer[")
            for inner in named(each)
            if inner not in found
        ]
    assert set(extras) - NOT_FOR_ALL == found


def test_torch_is_no_dependency(project: dict[str, Any]) -> None:
    assert not [each for each in project["dependencies"] if each.startswith("torch")]


def test_messages_name_extras_that_exist(project: dict[str, Any]) -> None:
    extras = set(project["optional-dependencies"])
    for path in (ROOT / "src").rglob("*.py"):
        for match in re.finditer(r"photometer\[([a-z,]+)\]", path.read_text()):
            assert set(match[1].split(",")) <= extras, f"{path}: {match[0]}"
