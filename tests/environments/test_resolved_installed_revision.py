"""Revisions installed by the user's command: built once, found again, whole also if imported from their source."""

from __future__ import annotations

import ast
import subprocess
import venv
from pathlib import Path

import pytest

from photometer.environments.kept import KeptEnvironments
from photometer.environments.resolved import SOURCE_NAME, ResolvedEnvironment, is_imported_from, resolve_environment
from photometer.environments.spec import parse_environment
from photometer.environments.worktree import Worktrees
from photometer.errors import EnvironmentSpecError
from tests.repositories import git, make_repository

# Writes down where it ran, and leaves a path to its source as an editable installation does.
INSTALL = """\
import pathlib, sys, sysconfig
here = pathlib.Path.cwd()
(pathlib.Path(sys.prefix) / "installed").write_text(str(here))
(pathlib.Path(sysconfig.get_path("purelib")) / "editable.pth").write_text(str(here / "src"))
"""
# Copies the package, so that nothing leads to the source.
COPY = """\
import pathlib, shutil, sysconfig
shutil.copytree("src/package", pathlib.Path(sysconfig.get_path("purelib")) / "package")
"""


# What meson-python and scikit-build-core install for `pip install -e`: a finder that comes before the path.
FINDER = """\
import importlib.util, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, {module!r}) if name in ("package", "another") else None

sys.meta_path.insert(0, Finder())
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    files = {"src/package/__init__.py": "VALUE = 'committed'\n", "install.py": INSTALL, "copy_package.py": COPY}
    return make_repository(tmp_path / "repository", files)


def resolved(repository: Path, revision: str, install: str) -> ResolvedEnvironment:
    with Worktrees() as worktrees:
        return resolve_environment(parse_environment(f"git:{revision}", repository), worktrees, install=install)


def printed(side: ResolvedEnvironment, code: str) -> str:
    command = [side.environment.python, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout.strip()


@pytest.mark.slow
def test_a_revision_is_built_once_and_outlives_its_checkout(repository: Path) -> None:
    side = resolved(repository, "HEAD", "python install.py")
    assert side.checkout is not None
    assert side.is_installed
    assert not side.imports_checkout
    assert side.environment.path == ()
    fresh = Path(side.environment.python).parents[1]
    assert (fresh / "installed").read_text() == str(side.checkout.folder)
    # It is imported from its source, which stays; git knows nothing of it any more.
    assert printed(side, "import package; print(package.VALUE)") == "committed"
    assert not (side.checkout.folder / ".git").exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    # It sees the packages of the interpreter it was made from, also where that is a venv itself.
    assert printed(side, "import numpy, sys; print(sys.prefix)") == str(fresh)
    # The second time nothing is built, and nothing checked out; another name of the same commit is the same.
    (fresh / "installed").write_text("not built again")
    again = resolved(repository, git(repository, "rev-parse", "HEAD"), "python install.py")
    assert again.environment.python == side.environment.python
    assert (fresh / "installed").read_text() == "not built again"
    (found,) = KeptEnvironments().present()
    assert found.title == "git:HEAD"
    assert ("installed by", "python install.py") in found.about


@pytest.mark.slow
def test_the_installed_revision_goes_before_an_editable_installation_below(repository: Path, tmp_path: Path) -> None:
    below = tmp_path / "below"
    venv.create(below)
    (site,) = below.glob("lib/python*/site-packages")
    sources = tmp_path / "sources.py"
    sources.write_text("VALUE = 'the sources below'\n")
    (site / "_package_editable_loader.py").write_text(FINDER.format(module=str(sources)))
    (site / "package-editable.pth").write_text("import _package_editable_loader\n")
    with Worktrees() as worktrees:
        spec = parse_environment(f"{below} + git:HEAD", repository)
        side = resolve_environment(spec, worktrees, install="python copy_package.py")
    assert printed(side, "import package; print(package.VALUE)") == "committed"
    # Others that are installed so are still found; and what the environment below does not see is not seen here.
    assert printed(side, "import another; print(another.VALUE)") == "the sources below"
    own = str(Path(side.environment.python).parents[1])
    seen = printed(side, "import sys; print([entry for entry in sys.path if entry.endswith('-packages')])")
    assert all(entry.startswith((own, str(below))) for entry in ast.literal_eval(seen)), seen


@pytest.mark.nightly
def test_the_working_tree_is_kept_by_its_state(repository: Path) -> None:
    command = "python copy_package.py"
    committed = resolved(repository, "HEAD", command)
    (repository / "src" / "package" / "__init__.py").write_text("VALUE = 'changed'\n")
    changed = resolved(repository, "WORKTREE", command)
    assert printed(committed, "import package; print(package.VALUE)") == "committed"
    assert printed(changed, "import package; print(package.VALUE)") == "changed"
    assert resolved(repository, "WORKTREE", command).environment == changed.environment
    # Nothing leads to the sources, so they are gone.
    assert not list((KeptEnvironments().folder).glob(f"*/{SOURCE_NAME}"))


@pytest.mark.nightly
def test_a_command_that_fails_leaves_nothing(repository: Path) -> None:
    with pytest.raises(EnvironmentSpecError, match="could not be made") as told:
        resolved(repository, "HEAD", "python -c 'raise SystemExit(\"no compiler\")'")
    assert "no compiler" in str(told.value.log)
    assert KeptEnvironments().present() == []
    assert len(git(repository, "worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("kind", ["pth", "finder", "link", "none"])
def test_what_leads_to_the_source_is_found(kind: str, tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    source = tmp_path / SOURCE_NAME
    (source / "loop").mkdir(parents=True)
    (source / "loop" / "inner").symlink_to(source)
    if kind == "pth":
        (site / "x.pth").write_text(f"{source}/src\n")
    elif kind == "finder":
        (site / "__editable___x_finder.py").write_text(f"MAPPING = {{'x': '{source}/x'}}\n")
    elif kind == "link":
        (site / "x.so").symlink_to(source / "x.so")
    assert is_imported_from(tmp_path, source) is (kind != "none")
