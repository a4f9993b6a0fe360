"""Installers: uv, and pip if there is no uv. Each turns a request into a lock, and a lock into a virtual environment.

A lock names every package with its exact version and where it comes from, so equal locks mean equal environments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from photometer.environments.command import run_command, variables_without_python_path
from photometer.environments.interpreter import Installed, Interpreter
from photometer.environments.kept import share_files
from photometer.environments.packages import NO_INDEX, PackageRequest, normal_name
from photometer.environments.uv import find_uv, uv_variables
from photometer.errors import EnvironmentSpecError
from photometer.session.left_behind import private_folder

_RESOLVE_REMEDY = "Check names and versions; the package index is the one in your settings of pip or uv."
_INSTALL_REMEDY = "Check the disk (a CUDA build of torch takes several gigabytes) and the network, and try again."
_OVER_REMEDY = (
    "Check names and versions. If they need another torch, name that, too, and a complete environment is created: "
    '"pip:torch==VERSION PACKAGES".'
)
# ` + einops==0.6.0`, ` ~ einops==0.6.0` if it is installed again, with ` (from PLACE)` for what was asked for by it.
_WOULD_INSTALL = re.compile(r"^ [+~] (?P<name>[^\s=]+)==(?P<version>\S+)(?: \(from (?P<place>.+)\))?$", re.MULTILINE)
# Older ones cannot say what they would install (--report), nor look at another interpreter (--python).
OLDEST_PIP = (22, 3)


class Installer(Protocol):
    """Makes environments. `name` is part of their keys: uv and pip write locks in forms of their own."""

    @property
    def name(self) -> str: ...

    def lock(self, request: PackageRequest, interpreter: Interpreter) -> str:
        """Return every package that the request needs for this Python, with versions and origins."""

    def make(self, folder: Path, interpreter: Interpreter, lock: str) -> None:
        """Make a virtual environment with exactly the packages of the lock."""

    def lock_over(self, request: PackageRequest, interpreter: Interpreter, below: Installed) -> str:
        """Return the packages that the request needs besides what is installed there; torch stays as it is."""

    def lay(self, folder: Path, interpreter: Interpreter, lock: str) -> None:
        """Put exactly the packages of the lock into a folder, for this Python."""


def find_installer() -> Installer:
    uv = find_uv()
    return PipInstaller() if uv is None else UvInstaller(uv)


def _not_resolved(request: PackageRequest) -> str:
    return f"pip:{' '.join(request.lines)} cannot be found, or do not fit together"


class UvInstaller:
    """Files are hard links into uv's own cache, so that environments share what they have in common."""

    name = "uv"

    def __init__(self, uv: str) -> None:
        self._uv = uv
        self._variables = uv_variables()

    def lock(self, request: PackageRequest, interpreter: Interpreter) -> str:
        with private_folder("lock") as folder:
            wanted = folder / "requirements.in"
            wanted.write_text(request.text, encoding="utf-8")
            command = [self._uv, "pip", "compile", "--quiet", "--python", interpreter.base, "--no-header"]
            command += ["--no-annotate", "--emit-index-annotation", "--emit-index-url", "--emit-find-links"]
            command += ["--prerelease", "allow"] if request.prereleases else []
            locked = run_command(
                [*command, str(wanted)],
                variables=self._variables,
                what=_not_resolved(request),
                remedy=_RESOLVE_REMEDY,
            )
            # uv writes down each index, but not that there is none: it would then install what the default one has
            # under the same version.
            return f"{NO_INDEX}\n{locked}" if NO_INDEX in request.lines else locked

    def make(self, folder: Path, interpreter: Interpreter, lock: str) -> None:
        environment = [self._uv, "venv", "--quiet", "--no-project", "--python", interpreter.base, str(folder)]
        run_command(environment, variables=self._variables, remedy=_INSTALL_REMEDY)
        packages = folder / "packages.txt"
        packages.write_text(lock, encoding="utf-8")
        # Byte code is written now: while something is measured none is, and every start would compile again.
        command = [self._uv, "pip", "sync", "--quiet", "--compile-bytecode", "--link-mode", "hardlink"]
        command += ["--python", str(folder / "bin" / "python"), str(packages)]
        run_command(command, variables=self._variables, remedy=_INSTALL_REMEDY)

    def lock_over(self, request: PackageRequest, interpreter: Interpreter, below: Installed) -> str:
        with private_folder("lock") as folder:
            # Nothing is installed, so that it would be into a system's own Python is no matter.
            command = [self._uv, "pip", "install", "--dry-run", "--no-progress", "--color", "never"]
            command += ["--break-system-packages", "--python", interpreter.executable]
            command += ["--prerelease", "allow"] if request.prereleases else []
            for name in request.names:
                # The sources of a folder, whatever their version, are not the package that is asked for.
                command += ["--reinstall-package", name] if name in below.editable else []
            said = run_command(
                [*command, *_written_over(request, below, folder)],
                variables=self._variables,
                what=_not_laid(request, interpreter),
                remedy=_OVER_REMEDY,
                with_complaints=True,
            )
            return _lock_text(request, lock_of_dry_run(said))

    def lay(self, folder: Path, interpreter: Interpreter, lock: str) -> None:
        command = [self._uv, "pip", "install", "--quiet", "--no-deps", "--compile-bytecode", "--link-mode", "hardlink"]
        command += ["--python", interpreter.executable, "--target", str(folder)]
        _lay(command, folder, lock, self._variables)


class PipInstaller:
    """The interpreter's own venv and pip. Large files that environments share are linked afterwards."""

    name = "pip"

    def lock(self, request: PackageRequest, interpreter: Interpreter) -> str:
        with private_folder("lock") as folder:
            wanted, report = folder / "requirements.in", folder / "report.json"
            wanted.write_text(request.text, encoding="utf-8")
            command = [*_pip_command(interpreter, folder), "install", "--quiet", "--dry-run", "--ignore-installed"]
            command += ["--pre"] if request.prereleases else []
            command += ["--report", str(report), "-r", str(wanted)]
            run_command(
                command, variables=variables_without_python_path(), what=_not_resolved(request), remedy=_RESOLVE_REMEDY
            )
            return lock_of_report(json.loads(report.read_text(encoding="utf-8")))

    def make(self, folder: Path, interpreter: Interpreter, lock: str) -> None:
        variables = variables_without_python_path()
        run_command([interpreter.base, "-m", "venv", str(folder)], variables=variables, remedy=_VENV_REMEDY)
        packages = folder / "packages.txt"
        packages.write_text(lock, encoding="utf-8")
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(packages)]
        run_command(command, variables=variables, remedy=_INSTALL_REMEDY)
        share_files(folder, folder.parent / "files")

    def lock_over(self, request: PackageRequest, interpreter: Interpreter, below: Installed) -> str:
        with private_folder("lock") as folder:
            pip = [*_pip_over(interpreter, folder), "install", "--quiet", "--dry-run"]
            pip += ["--pre"] if request.prereleases else []
            wanted = _written_over(request, below, folder)
            lock = self._reported([*pip, *wanted], request, interpreter, folder)
            from_sources = set(request.names) & below.editable
            if from_sources:
                # pip takes the sources for the package that is asked for: these once more, as if they were not there.
                again = [*pip, "--no-deps", "--ignore-installed", *wanted]
                lines = self._reported(again, request, interpreter, folder).splitlines()
                lock += "".join(f"{line}\n" for line in lines if normal_name(line.partition(" @ ")[0]) in from_sources)
            return _lock_text(request, lock)

    def _reported(self, command: list[str], request: PackageRequest, interpreter: Interpreter, folder: Path) -> str:
        report = folder / "report.json"
        run_command(
            [*command, "--report", str(report)],
            variables=variables_without_python_path(),
            what=_not_laid(request, interpreter),
            remedy=_OVER_REMEDY,
        )
        return lock_of_report(json.loads(report.read_text(encoding="utf-8")))

    def lay(self, folder: Path, interpreter: Interpreter, lock: str) -> None:
        with private_folder("pip") as place:
            command = [*_pip_over(interpreter, place), "install", "--quiet", "--no-deps", "--target", str(folder)]
            _lay(command, folder, lock, variables_without_python_path())


def _not_laid(request: PackageRequest, interpreter: Interpreter) -> str:
    lines = " ".join(line for line in request.lines if not line.startswith("--"))
    return f"pip:{lines} cannot be added to Python {interpreter.version} and the packages installed there"


def _written_over(request: PackageRequest, below: Installed, folder: Path) -> list[str]:
    """Write the requested packages and those that must stay, and return the options that name both files."""
    wanted, stays = folder / "requirements.in", folder / "stays.txt"
    wanted.write_text(request.text, encoding="utf-8")
    stays.write_text("" if below.torch is None else f"torch=={below.torch}\n", encoding="utf-8")
    return ["-r", str(wanted), "-c", str(stays)]


def _lock_text(request: PackageRequest, packages: str) -> str:
    return "".join(f"{line}\n" for line in request.sources) + packages


def _lay(command: list[str], folder: Path, lock: str, variables: Mapping[str, str]) -> None:
    folder.mkdir(mode=0o700)
    if any(line and not line.startswith("-") for line in lock.splitlines()):
        with private_folder("lay") as place:
            packages = place / "packages.txt"
            packages.write_text(lock, encoding="utf-8")
            run_command([*command, "-r", str(packages)], variables=variables, remedy=_INSTALL_REMEDY)


_VENV_REMEDY = "Python's venv is needed (Debian: apt-get install python3-venv), or uv: pip install uv"


def _pip_over(interpreter: Interpreter, folder: Path) -> list[str]:
    """Return a pip that sees the packages of the interpreter: its own if it is new enough, else another one."""
    if _has_pip(interpreter.executable):
        return [interpreter.executable, "-m", "pip"]
    return [*_pip_command(interpreter, folder), "--python", interpreter.executable]


def _has_pip(python: str) -> bool:
    """Return whether an interpreter has a pip that is new enough."""
    try:
        reported = run_command([python, "-m", "pip", "--version"], variables=variables_without_python_path())
        return tuple(int(number) for number in reported.split()[1].split(".")[:2]) >= OLDEST_PIP
    except (EnvironmentSpecError, ValueError, IndexError):
        # No pip there, or one that says something else.
        return False


def _pip_command(interpreter: Interpreter, folder: Path) -> list[str]:
    """Return the pip of the base interpreter if it is new enough, or that of a virtual environment made for it."""
    variables = variables_without_python_path()
    if _has_pip(interpreter.base):
        return [interpreter.base, "-m", "pip"]
    run_command([interpreter.base, "-m", "venv", str(folder / "pip")], variables=variables, remedy=_VENV_REMEDY)
    return [str(folder / "pip" / "bin" / "python"), "-m", "pip"]


def lock_of_dry_run(said: str) -> str:
    """Return the lock in uv's report of what it would install."""
    lines = [
        f"{found['name']} @ {found['place']}" if found["place"] else f"{found['name']}=={found['version']}"
        for found in _WOULD_INSTALL.finditer(said)
    ]
    return "".join(f"{line}\n" for line in sorted(lines))


def lock_of_report(report: Mapping[str, Any]) -> str:
    """Return pip's installation report as a lock: every package by the address and the hash of its file."""
    lines = []
    for item in report["install"]:
        address = item["download_info"]["url"]
        hashes = item["download_info"].get("archive_info", {}).get("hashes", {})
        check = f"#sha256={hashes['sha256']}" if "sha256" in hashes and "#" not in address else ""
        lines.append(f"{item['metadata']['name']} @ {address}{check}")
    return "".join(f"{line}\n" for line in sorted(lines, key=str.lower))
