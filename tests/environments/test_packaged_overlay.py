"""Packages laid over an interpreter: resolved against what is there, without another torch, kept and found again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from photometer.environments.installers import Installer, PipInstaller, UvInstaller, lock_of_dry_run
from photometer.environments.interpreter import Interpreter, describe
from photometer.environments.kept import KeptEnvironments
from photometer.environments.packaged import Overlay, overlay
from photometer.environments.packages import parse_packages
from photometer.environments.resolved import ResolvedEnvironment, resolve_environments
from photometer.environments.spec import parse_environment
from photometer.environments.uv import find_uv
from photometer.environments.worktree import Worktrees
from photometer.errors import EnvironmentSpecError
from tests.environments.wheels import make_wheel

pytestmark = pytest.mark.lengthy


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels") / "wheels"
    make_wheel(folder, "torch", "1.0+cpu")
    make_wheel(folder, "torch", "2.0")
    make_wheel(folder, "small", "1.0")
    make_wheel(folder, "small", "2.0")
    make_wheel(folder, "shapes", "0.6", needs=["torch", "small"])
    make_wheel(folder, "shapes", "0.8", needs=["torch", "small>=2"])
    make_wheel(folder, "greedy", "1.0", needs=["torch>=2"])
    return folder


@pytest.fixture(scope="module")
def python(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    """Return an interpreter that has torch 1.0+cpu, small 1.0, and sources that call themselves shapes 0.8."""
    folder = tmp_path_factory.mktemp("below") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    executable = str(folder / "bin" / "python")
    site = next(folder.glob("lib/python*/site-packages"))
    for name, version in (("torch", "1.0+cpu"), ("small", "1.0"), ("shapes", "0.8")):
        subprocess.run(
            [sys.executable, "-m", "zipfile", "-e", str(wheels / f"{name}-{version}-py3-none-any.whl"), str(site)],
            check=True,
        )
    told = '{"url": "file:///sources", "dir_info": {"editable": true}}'
    (site / "shapes-0.8.dist-info" / "direct_url.json").write_text(told)
    (site / "shapes" / "__init__.py").write_text("__version__ = 'sources'\n")
    return describe(executable)


@pytest.fixture(params=["uv", "pip"])
def installer(request: pytest.FixtureRequest) -> Installer:
    if request.param == "pip":
        return PipInstaller()
    program = find_uv()
    if program is None:
        pytest.skip("uv is not installed")
    return UvInstaller(program)


@pytest.fixture
def kept(tmp_path: Path) -> KeptEnvironments:
    return KeptEnvironments(tmp_path / "environments")


def laid(text: str, wheels: Path, python: Interpreter, kept: KeptEnvironments, installer: Installer) -> Overlay:
    request = parse_packages(f"{text} --no-index --find-links {wheels}", text, wheels)
    with overlay(request, python, kept, installer) as made:
        return made


def packages(made: Overlay) -> set[str]:
    return {entry.name for entry in made.folder.iterdir() if (entry / "__init__.py").exists()}


def test_what_is_there_is_not_laid_again(
    wheels: Path, python: Interpreter, kept: KeptEnvironments, installer: Installer
) -> None:
    old = laid("shapes==0.6", wheels, python, kept, installer)
    assert packages(old) == {"shapes"}
    assert old.found == (("shapes", "0.6"),)
    assert list(old.folder.glob("shapes/__pycache__/*.pyc"))
    assert old.folder.stat().st_mode & 0o077 == 0
    # Other words, the same packages.
    assert laid("shapes<0.7", wheels, python, kept, installer) == old
    # The sources that are installed are not the release of that version; what that needs comes with it.
    new = laid("shapes==0.8", wheels, python, kept, installer)
    assert packages(new) - {"small"} == {"shapes"}
    assert (new.folder / "shapes" / "__init__.py").read_text() == "__version__ = '0.8'\n"
    assert new.key != old.key
    assert len(str(new.folder)) == len(str(old.folder))


def test_a_newer_package_below_is_replaced_above(
    wheels: Path, python: Interpreter, kept: KeptEnvironments, installer: Installer
) -> None:
    made = laid("small==2.0", wheels, python, kept, installer)
    assert packages(made) == {"small"}
    # Sources that may change at any time stay below it.
    assert made.is_over_sources
    # What is asked for is there: nothing is laid.
    assert packages(laid("small", wheels, python, kept, installer)) == set()


def test_torch_is_never_replaced(
    wheels: Path, python: Interpreter, kept: KeptEnvironments, installer: Installer
) -> None:
    with pytest.raises(EnvironmentSpecError, match="greedy cannot be added to Python 3") as told:
        laid("greedy", wheels, python, kept, installer)
    assert "pip:torch==VERSION" in str(told.value)
    assert kept.present() == []


def test_without_the_index_the_last_lock_is_used(python: Interpreter, kept: KeptEnvironments, tmp_path: Path) -> None:
    program = find_uv()
    if program is None:
        pytest.skip("uv is not installed")
    folder = tmp_path / "few"
    wheel = make_wheel(folder, "other", "1.0")
    made = laid("other", folder, python, kept, UvInstaller(program))
    wheel.unlink()
    with pytest.warns(UserWarning, match="using the packages found on"):
        assert laid("other", folder, python, kept, UvInstaller(program)) == made


def resolved(texts: list[str]) -> list[ResolvedEnvironment]:
    with Worktrees() as worktrees:
        return resolve_environments([parse_environment(text) for text in texts], worktrees)


def test_sides_with_packages_over_an_interpreter(
    wheels: Path, python: Interpreter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    source = f"--no-index --find-links {wheels}"
    (tmp_path / "extra").mkdir()
    old, new, small = resolved(
        [
            f"{python.executable} + pip:shapes==0.6 {source}",
            f"pip:shapes {source} + {python.executable}",
            f"path:{tmp_path / 'extra'} + pip:small>1 {source} + {python.executable}",
        ]
    )
    assert old.environment.python == new.environment.python == python.executable
    assert [Path(path).parent for path in old.environment.path] == [tmp_path / "cache" / "environments"]
    # A folder that the user names comes before packages.
    assert [Path(path).name == "extra" for path in small.environment.path] == [True, False]
    assert old.name == old.spec.text
    assert new.name == f"{new.spec.text} (shapes 0.8)"
    assert old.identity()["overlay"] != new.identity()["overlay"]
    # Sources below `small` may change: what was counted there is not kept.
    assert old.has_locked_packages
    assert not small.has_locked_packages


def test_packages_without_torch_are_laid_over_what_the_others_make(tmp_path: Path) -> None:
    spec = parse_environment("pip:torch==2.13.0 numpy + pip:einops==0.6.0 + pip:more", tmp_path)
    assert spec.packages is not None
    assert spec.packages.lines == ("torch==2.13.0", "numpy")
    assert spec.overlay is not None
    assert spec.overlay.lines == ("einops==0.6.0", "more")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("torch==2.13.0", ("torch",)),
        ("Torch[opt]>=2", ("torch",)),
        ("torchvision==0.20", ("torchvision",)),
        ("torch_geometric", ("torch-geometric",)),
        ("torch@https://there/x.whl", ("torch",)),
        ("https://there/torch-2.0-py3-none-any.whl", ("torch",)),
        ("einops --index-url https://there/torch", ("einops",)),
        ("-r wanted.txt", ("einops", "torch", "small")),
    ],
)
def test_names_that_are_asked_for(text: str, names: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "wanted.txt").write_text(
        "# a comment\neinops\n\ntorch == 2.13.0  # ours\n-c other.txt\nsmall; python_version<'4'\n"
    )
    request = parse_packages(text, text, tmp_path)
    assert request.names == names
    assert request.names_torch == ("torch" in names)


def test_what_uv_would_install_becomes_a_lock() -> None:
    said = "Resolved 3 packages\nWould install 3\n - b==1\n + b==2\n ~ c==3\n + a==1 (from file:///x/a.whl)\n"
    assert lock_of_dry_run(said) == "a @ file:///x/a.whl\nb==2\nc==3\n"
