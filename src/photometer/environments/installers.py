"""Installers: uv, and pip if there is no uv. Each turns a request into a lock, and a lock into a virtual environment.

A lock names every package with its exact version and where it comes from, so equal locks mean equal environments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from photometer.environments.command import run_command, variables_without_python_path
from photometer.environments.interpreter import Interpreter
from photometer.environments.packages import PackageRequest
from photometer.environments.shared_files import share_files
from photometer.environments.uv import find_uv, uv_variables
from photometer.errors import EnvironmentSpecError
from photometer.session.left_behind import private_folder

_RESOLVE_REMEDY = "Check names and versions; the index is the one that your pip or uv is set up for."
_INSTALL_REMEDY = "Check the disk (a CUDA build of torch takes several gigabytes) and the network, and try again."
# Older ones cannot say what they would install (pip install --report).
OLDEST_PIP = (22, 2)


class Installer(Protocol):
    """What makes environments. `name` is part of what they are kept by: the two write locks of their own form."""

    @property
    def name(self) -> str: ...

    def lock(self, request: PackageRequest, interpreter: Interpreter) -> str:
        """Return every package that the request needs for this Python, with versions and origins."""

    def make(self, folder: Path, interpreter: Interpreter, lock: str) -> None:
        """Make a virtual environment with exactly the packages of the lock."""


def find_installer() -> Installer:
    uv = find_uv()
    return PipInstaller() if uv is None else UvInstaller(uv)


def _not_resolved(request: PackageRequest) -> str:
    return f"pip:{' '.join(request.lines)} cannot be found, or not together"


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
            return run_command(
                [*command, str(wanted)],
                variables=self._variables,
                what=_not_resolved(request),
                remedy=_RESOLVE_REMEDY,
            )

    def make(self, folder: Path, interpreter: Interpreter, lock: str) -> None:
        environment = [self._uv, "venv", "--quiet", "--no-project", "--python", interpreter.base, str(folder)]
        run_command(environment, variables=self._variables, remedy=_INSTALL_REMEDY)
        packages = folder / "packages.txt"
        packages.write_text(lock, encoding="utf-8")
        # Byte code is written now: while something is measured none is, and every start would compile again.
        command = [self._uv, "pip", "sync", "--quiet", "--compile-bytecode", "--link-mode", "hardlink"]
        command += ["--python", str(folder / "bin" / "python"), str(packages)]
        run_command(command, variables=self._variables, remedy=_INSTALL_REMEDY)


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


_VENV_REMEDY = "Python's venv is needed (Debian: apt-get install python3-venv), or uv: pip install uv"


def _pip_command(interpreter: Interpreter, folder: Path) -> list[str]:
    """Return the pip of the base interpreter if it is new enough, or that of a virtual environment made for it."""
    variables = variables_without_python_path()
    own = [interpreter.base, "-m", "pip"]
    try:
        reported = run_command([*own, "--version"], variables=variables)
        version = tuple(int(number) for number in reported.split()[1].split(".")[:2])
        if version >= OLDEST_PIP:
            return own
    except (EnvironmentSpecError, ValueError, IndexError):
        # No pip there, or one that says something else.
        pass
    run_command([interpreter.base, "-m", "venv", str(folder / "pip")], variables=variables, remedy=_VENV_REMEDY)
    return [str(folder / "pip" / "bin" / "python"), "-m", "pip"]


def lock_of_report(report: Mapping[str, Any]) -> str:
    """Return pip's installation report as a lock: every package by the address and the hash of its file."""
    lines = []
    for item in report["install"]:
        address = item["download_info"]["url"]
        hashes = item["download_info"].get("archive_info", {}).get("hashes", {})
        check = f"#sha256={hashes['sha256']}" if "sha256" in hashes and "#" not in address else ""
        lines.append(f"{item['metadata']['name']} @ {address}{check}")
    return "".join(f"{line}\n" for line in sorted(lines, key=str.lower))
