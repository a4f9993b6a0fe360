"""Environments made of small wheels from a folder, by uv and by pip: kept by their lock, found again, sharing files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.environments.command import CommandStopped, run_command
from photometer.environments.installers import Installer, PipInstaller, UvInstaller, find_installer, lock_of_report
from photometer.environments.interpreter import Interpreter, describe
from photometer.environments.kept import KeptEnvironments
from photometer.environments.packaged import Packaged, packaged, torch_in
from photometer.environments.packages import parse_packages
from photometer.environments.resolved import resolve_environments
from photometer.environments.spec import parse_environment
from photometer.environments.uv import find_uv
from photometer.environments.worktree import Worktrees
from photometer.errors import EnvironmentSpecError
from tests.environments.wheels import make_wheel

LIBRARY = b"machine code" * 5000
INTERPRETER = describe(sys.executable)


@pytest.fixture(scope="module", autouse=True)
def _settings_of_nobody() -> Iterator[None]:
    """Leave out the machine's settings of pip and uv: they may name a folder that has a real torch, of a gigabyte."""
    with pytest.MonkeyPatch.context() as variables:
        for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
            variables.delenv(name)
        variables.setenv("PIP_CONFIG_FILE", os.devnull)
        yield


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    make_wheel(folder, "torch", "1.0", files={"lib/libc10.so": LIBRARY}, needs=["small"])
    make_wheel(folder, "torch", "2.0", files={"lib/libc10.so": LIBRARY}, needs=["small"])
    make_wheel(folder, "small", "1.0")
    return folder


@pytest.fixture
def kept(tmp_path: Path) -> KeptEnvironments:
    return KeptEnvironments(tmp_path / "environments")


@pytest.fixture(scope="module")
def uv() -> Installer:
    program = find_uv()
    if program is None:
        pytest.skip("uv is not installed")
    return UvInstaller(program)


def made(text: str, wheels: Path, kept: KeptEnvironments, installer: Installer) -> Packaged:
    request = parse_packages(f"{text} --no-index --find-links {wheels}", text, wheels)
    with packaged(request, INTERPRETER, kept, installer) as environment:
        return environment


def imported(environment: Packaged, module: str) -> str:
    command = [environment.python, "-c", f"import {module}; print({module}.__version__)"]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout.strip()


def libraries(kept: KeptEnvironments) -> list[Path]:
    return sorted(kept.folder.glob("*/lib/python*/site-packages/torch/lib/libc10.so"))


@pytest.mark.lengthy
def test_an_environment_is_kept_by_its_lock(wheels: Path, kept: KeptEnvironments, uv: Installer) -> None:
    first = made("torch==1.0", wheels, kept, uv)
    assert imported(first, "torch") == "1.0"
    assert imported(first, "small") == "1.0"
    assert first.torch == "1.0"
    # Other words, the same packages.
    assert made("torch<2", wheels, kept, uv) == first
    second = made("torch", wheels, kept, uv)
    assert second.torch == "2.0"
    assert imported(second, "torch") == "2.0"
    assert second.key != first.key
    assert len(second.python) == len(first.python)
    # A newer version of what torch needs is another environment; the old one stays.
    make_wheel(wheels, "small", "1.1")
    third = made("torch==1.0", wheels, kept, uv)
    assert imported(third, "small") == "1.1"
    assert imported(first, "small") == "1.0"
    assert {each.title.split()[0] for each in kept.present()} == {"pip:torch==1.0", "pip:torch"}


def test_a_lock_says_that_there_is_no_index(wheels: Path, uv: Installer) -> None:
    """Without it, uv would install the torch 2.0.0 of the default index for `torch==2.0` of the folder."""
    request = parse_packages(f"torch --no-index --find-links {wheels}", "torch", wheels)
    assert uv.lock(request, INTERPRETER).splitlines()[0] == "--no-index"


def test_uv_links_what_environments_share_and_compiles_byte_code(
    wheels: Path, kept: KeptEnvironments, uv: Installer
) -> None:
    made("torch==1.0", wheels, kept, uv)
    make_wheel(wheels, "small", "1.1")
    made("torch==1.0", wheels, kept, uv)
    one, two = libraries(kept)
    assert one.stat().st_ino == two.stat().st_ino
    assert list(kept.folder.glob("*/lib/python*/site-packages/torch/__pycache__/version.*.pyc"))


@pytest.mark.nightly
def test_pip_does_the_same_without_uv(
    wheels: Path, kept: KeptEnvironments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr("photometer.environments.installers.find_uv", lambda: None)
    installer = find_installer()
    assert isinstance(installer, PipInstaller)
    first = made("torch==1.0", wheels, kept, installer)
    assert imported(first, "torch") == "1.0"
    assert first.torch == "1.0"
    assert made("torch<2", wheels, kept, installer) == first
    made("torch==2.0", wheels, kept, installer)
    one, two = libraries(kept)
    assert one.stat().st_ino == two.stat().st_ino
    kept.clear()
    assert list((kept.folder / "files").iterdir()) == []


def test_without_the_index_the_last_lock_is_used(wheels: Path, kept: KeptEnvironments, uv: Installer) -> None:
    first = made("torch==1.0", wheels, kept, uv)
    for wheel in wheels.glob("torch-*"):
        wheel.unlink()
    with pytest.warns(UserWarning, match="using the packages found on"):
        assert made("torch==1.0", wheels, kept, uv) == first
    with pytest.raises(EnvironmentSpecError, match=r"pip:torch==2.0 .* cannot be found") as told:
        made("torch==2.0", wheels, kept, uv)
    assert "torch" in str(told.value.log)


def test_a_wheel_of_ones_own_that_is_built_again(wheels: Path, kept: KeptEnvironments, uv: Installer) -> None:
    wheel = make_wheel(wheels / "own", "torch", "3.0", needs=["small"])
    first = made(str(wheel), wheels, kept, uv)
    assert imported(first, "torch") == "3.0"
    make_wheel(wheels / "own", "torch", "3.0", files={"new.py": b"NEW = 1\n"}, needs=["small"])
    assert made(str(wheel), wheels, kept, uv).key != first.key


@pytest.mark.lengthy
def test_sides_are_made_at_once_and_named_by_what_was_found(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uv: Installer
) -> None:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    texts = [f"pip:{wanted} --no-index --find-links {wheels}" for wanted in ("torch==1.0", "torch", "torch==1.0")]
    with Worktrees() as worktrees:
        sides = resolve_environments([parse_environment(text) for text in texts], worktrees)
        assert [each.in_use for each in KeptEnvironments().present()] == [True, True]
    assert not any(each.in_use for each in KeptEnvironments().present())
    assert sides[0].environment.python == sides[2].environment.python
    assert sides[0].name == texts[0]
    assert sides[1].name == f"{texts[1]} (torch 2.0)"
    # The same version, but another build of torch: comparisons of the two do not mix.
    assert sides[0].identity()["torch_build"] != sides[1].identity()["torch_build"]


def test_one_that_fails_ends_the_others_and_is_the_one_that_is_told(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uv: Installer
) -> None:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))

    class Slow(UvInstaller):
        def make(self, folder: Path, interpreter: Interpreter, lock: str) -> None:
            run_command(["sleep", "600"])

    monkeypatch.setattr("photometer.environments.resolved.find_installer", lambda: Slow(find_uv() or ""))
    texts = [f"pip:torch=={version} --no-index --find-links {wheels}" for version in ("1.0", "99")]
    with Worktrees() as worktrees, pytest.raises(EnvironmentSpecError, match="torch==99") as told:
        resolve_environments([parse_environment(text) for text in texts], worktrees)
    assert not isinstance(told.value, CommandStopped)
    assert KeptEnvironments().present() == []


def test_locks_name_their_torch() -> None:
    assert torch_in("filelock==1\ntorch==2.13.0+cpu\n    # from somewhere\n") == "2.13.0+cpu"
    assert torch_in("torch @ https://x/torch-2.13.0%2Bcpu-cp311-cp311-linux.whl#sha256=1\n") == "2.13.0+cpu"
    assert torch_in("torchvision==1\n") is None


def test_pips_report_becomes_a_lock() -> None:
    items = [
        {"metadata": {"name": "b"}, "download_info": {"url": "https://x/b.whl", "archive_info": {}}},
        {
            "metadata": {"name": "A"},
            "download_info": {"url": "https://x/a.whl", "archive_info": {"hashes": {"sha256": "12"}}},
        },
    ]
    assert lock_of_report({"install": items}) == "A @ https://x/a.whl#sha256=12\nb @ https://x/b.whl\n"
