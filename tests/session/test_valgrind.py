from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path

import pytest

from photometer.errors import ToolMissing
from photometer.session.valgrind import Valgrind, check_platform, find_valgrind, parse_version


@pytest.fixture
def on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


def fake_valgrind(folder: Path, script: str) -> str:
    program = folder / "valgrind"
    program.write_text("#!/bin/sh\n" + script + "\n")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.usefixtures("on_linux")
def test_a_valgrind_on_the_path_is_found(tmp_path: Path) -> None:
    found = find_valgrind(fake_valgrind(tmp_path, "echo valgrind-3.24.0.GIT"))
    assert found == Valgrind(tmp_path / "valgrind", (3, 24, 0))
    assert found.version_string == "3.24.0"


@pytest.mark.usefixtures("on_linux")
def test_no_valgrind_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_which = shutil.which
    monkeypatch.setattr(
        shutil,
        "which",
        lambda name, path=None: "/usr/bin/dnf" if name == "dnf" else real_which(name, path=str(tmp_path)),
    )
    with pytest.raises(ToolMissing, match=r"not on the PATH\nInstall it: sudo dnf install valgrind"):
        find_valgrind(str(tmp_path))


@pytest.mark.usefixtures("on_linux")
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo valgrind-3.16.1", r"Valgrind 3\.16\.1 at .* is too old: 3\.17"),
        ("echo nonsense", "does not report its version"),
        ("echo valgrind: failed to start tool >&2; exit 1", r"exit status: 1\n.*failed to start tool"),
    ],
)
def test_an_unusable_valgrind_says_why(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(ToolMissing, match=message) as raised:
        find_valgrind(fake_valgrind(tmp_path, script))
    assert str(raised.value).splitlines()[-1].startswith("Install it")


@pytest.mark.usefixtures("on_linux")
def test_a_file_that_is_no_program_is_told(tmp_path: Path) -> None:
    (tmp_path / "valgrind").write_bytes(b"\x7fELF no")
    (tmp_path / "valgrind").chmod(0o755)
    with pytest.raises(ToolMissing, match="does not start"):
        find_valgrind(str(tmp_path))


@pytest.mark.parametrize(
    ("system", "machine", "word"), [("darwin", "arm64", "darwin"), ("linux", "riscv128", "riscv128")]
)
def test_platforms_without_valgrind(system: str, machine: str, word: str) -> None:
    with pytest.raises(ToolMissing, match=rf"{word}[\s\S]*Timing works here"):
        check_platform(system, machine)


def test_versions() -> None:
    assert parse_version("valgrind-3.19.0\n") == (3, 19, 0)
    assert parse_version("3.19.0") is None


def test_the_command_line_keeps_the_users_settings_out_and_the_program_last() -> None:
    tool = Valgrind(Path("/usr/bin/valgrind"), (3, 19, 0))
    plain = tool.callgrind_command(["python", "-s", "worker.py"], out_file="/tmp/c.%p")
    assert plain[:3] == ["/usr/bin/valgrind", "--command-line-only=yes", "--tool=callgrind"]
    assert plain[-3:] == ["python", "-s", "worker.py"]
    assert {"--instr-atstart=no", "--collect-atstart=no", "--vgdb=no", "--callgrind-out-file=/tmp/c.%p"} <= set(plain)
    assert not {"--cache-sim=yes", "--branch-sim=yes"} & set(plain)
    simulated = tool.callgrind_command(
        ["true"], out_file="o", log_file="l", cache_simulation=True, branch_simulation=True
    )
    assert {"--cache-sim=yes", "--branch-sim=yes", "--log-file=l"} <= set(simulated)


@pytest.mark.valgrind
def test_the_valgrind_of_this_machine_takes_the_command_line(tmp_path: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    import subprocess

    command = find_valgrind().callgrind_command(
        ["true"], out_file=str(tmp_path / "c.%p"), log_file=str(tmp_path / "log.%p")
    )
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert {path.name.split(".")[0] for path in tmp_path.iterdir()} == {"c", "log"}
