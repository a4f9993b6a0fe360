"""A side's folders go first on the path, whatever is installed editable."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from photometer.worker.server import put_first


class Redirecting:
    """The finder of an editable installation, which its build back end puts before the path."""

    __module__ = "_package_editable_loader"

    def __init__(self, sources: Path) -> None:
        self._sources = sources

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith("package_of"):
            return None
        return importlib.util.spec_from_file_location(name, self._sources / f"{name}.py")


def test_a_revision_is_found_before_the_sources_that_are_installed_editable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, revision = tmp_path / "sources", tmp_path / "revision"
    for folder in (sources, revision):
        folder.mkdir()
        (folder / "package_of_test.py").touch()
    finders = sys.meta_path[:]
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "meta_path", [Redirecting(sources), *finders])
    put_first([])
    before = importlib.util.find_spec("package_of_test")
    put_first([str(revision)])
    after = importlib.util.find_spec("package_of_test")
    assert before is not None
    assert after is not None
    assert (before.origin, after.origin) == (f"{sources}/package_of_test.py", f"{revision}/package_of_test.py")
    # The others keep their order.
    assert sys.meta_path[:-1] == finders
