"""Find Valgrind, check that it is usable, and build its command line.

In: the PATH and the platform. Out: a Valgrind, or a ToolMissing that says what to install.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from photometer.errors import ToolMissing
from photometer.programs import run_program

OLDEST_VERSION = (3, 17)
"""The first to read DWARF 5, which gcc 11 and clang 14 write; older ones fail on such libraries or show no names."""

# Valgrind's own messages, of a server and all its forks. With a file for each process, every fork would take one of the
# twelve descriptors that Valgrind reserves for itself, and a fork of the fourth generation would have none left.
LOG = "log"

SUPPORTED_MACHINES = frozenset(("x86_64", "amd64", "aarch64", "arm64", "ppc64le", "s390x"))

_INSTALL_COMMANDS = (
    ("apt-get", "sudo apt-get install valgrind"),
    ("dnf", "sudo dnf install valgrind"),
    ("yum", "sudo yum install valgrind"),
    ("zypper", "sudo zypper install valgrind"),
    ("pacman", "sudo pacman -S valgrind"),
    ("apk", "sudo apk add valgrind"),
    ("conda", "conda install -c conda-forge valgrind"),
)

_VERSION_SECONDS = 30
"""`valgrind --version` returns at once; a wrapper script on a cold network disk may take seconds."""


@dataclass(frozen=True)
class Valgrind:
    """A usable Valgrind: its path and version."""

    path: Path
    version: tuple[int, ...]

    @property
    def version_string(self) -> str:
        return ".".join(map(str, self.version))

    def callgrind_command(
        self,
        program: Sequence[str],
        *,
        out_file: str,
        log_file: str | None = None,
        cache_simulation: bool = False,
        branch_simulation: bool = False,
        more: Sequence[str] = (),
    ) -> list[str]:
        """Return the command that runs `program` under Callgrind; the program itself turns instrumentation on.

        `out_file` may contain `%p`, which each process replaces by its pid.
        """
        options = [
            # VALGRIND_OPTS and .valgrindrc of the user or of the working folder would change what is counted.
            "--command-line-only=yes",
            "--tool=callgrind",
            f"--callgrind-out-file={out_file}",
            "--instr-atstart=no",
            "--collect-atstart=no",
            # The gdb server keeps files in shared memory, and its polling executes a varying number of instructions.
            "--vgdb=no",
            "--dump-line=yes",
            "--combine-dumps=no",
        ]
        if log_file is not None:
            options.append(f"--log-file={log_file}")
        if cache_simulation:
            options.append("--cache-sim=yes")
        if branch_simulation:
            options.append("--branch-sim=yes")
        return [str(self.path), *options, *more, *program]


def find_valgrind(search_path: str | None = None) -> Valgrind:
    """Return the Valgrind on the PATH (or on `search_path`), after checking it."""
    check_platform(sys.platform, platform.machine())
    found = shutil.which("valgrind", path=search_path)
    if found is None:
        raise ToolMissing("instruction counts need Valgrind, which is not on the PATH", remedy=install_remedy())
    command = [found, "--version"]
    try:
        done = run_program(command, _VERSION_SECONDS)
    except OSError as error:
        raise ToolMissing(f"Valgrind does not start: {error}", command=command, remedy=install_remedy()) from error
    version = parse_version(done.stdout)
    if done.returncode or version is None:
        raise ToolMissing(
            "Valgrind does not report its version",
            command=command,
            exit_status=done.returncode,
            log=(done.stdout + done.stderr)[-2000:],
            remedy=install_remedy(),
        )
    if version < OLDEST_VERSION:
        raise ToolMissing(
            f"Valgrind {'.'.join(map(str, version))} at {found} is too old: "
            f"{'.'.join(map(str, OLDEST_VERSION))} or later is needed",
            remedy=install_remedy(),
        )
    return Valgrind(Path(found), version)


def check_platform(system: str, machine: str) -> None:
    """Raise if no Valgrind runs Python with torch here."""
    if system != "linux":
        raise ToolMissing(
            f"instruction counts need Valgrind, which does not run current Python on this platform ({system})",
            remedy="Count instructions on Linux: a virtual machine, a container or WSL 2 will do. Timing works here.",
        )
    if machine.lower() not in SUPPORTED_MACHINES:
        raise ToolMissing(
            f"Valgrind does not support this processor ({machine})",
            remedy=f"Count instructions on one of: {', '.join(sorted(SUPPORTED_MACHINES))}. Timing works here.",
        )


def parse_version(text: str) -> tuple[int, ...] | None:
    """Return the numbers of `valgrind-3.19.0` (or `valgrind-3.24.0.GIT`); None if there are none."""
    match = re.search(r"valgrind-(\d+(?:\.\d+)+)", text)
    return None if match is None else tuple(map(int, match[1].split(".")))


def install_remedy() -> str:
    """Return the command that installs Valgrind, for the package manager of this machine."""
    for manager, command in _INSTALL_COMMANDS:
        if shutil.which(manager) is not None:
            return f"Install it: {command}"
    return "Install it with your system's package manager, or from https://valgrind.org."
