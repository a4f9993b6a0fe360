"""Interpreter: a Python on this machine as it describes itself, and how `python:3.12` finds one.

In: a path or a version. Out: version, base executable, the place of its packages, and a fingerprint of their state.
torch is not imported.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from photometer.environments.command import run_command, variables_without_python_path
from photometer.environments.packages import normal_name
from photometer.environments.uv import find_uv
from photometer.errors import EnvironmentSpecError
from photometer.instruments.cpp.torch_build import build_fingerprint

VERSION = re.compile(r"3(\.\d+){0,2}t?")
# Run by any Python from 3.8; `find_spec` of a package without a dot imports nothing.
_DESCRIBE = """
import importlib.util, json, platform, site, sys, sysconfig
torch = importlib.util.find_spec("torch")
print(json.dumps({
    "version": platform.python_version() + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""),
    "executable": sys.executable,
    "base": getattr(sys, "_base_executable", None) or sys.executable,
    "is_venv": sys.prefix != sys.base_prefix,
    "abi": sysconfig.get_config_var("SOABI") or "",
    "site_folders": site.getsitepackages(),
    "torch_file": None if torch is None else torch.origin,
}))
"""


# The version of torch, and the packages that are imported from a folder of sources, which may change at any time.
_INSTALLED = """
import importlib.metadata, json
torch, editable = None, []
for found in importlib.metadata.distributions():
    name = found.metadata["Name"] or ""
    if name == "torch":
        torch = torch or found.version
    if json.loads(found.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable"):
        editable.append(name)
print(json.dumps({"torch": torch, "editable": editable}))
"""


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """`base` is the installation behind a virtual environment, or else the interpreter itself."""

    executable: str
    version: str
    base: str
    abi: str
    is_venv: bool
    site_folders: tuple[str, ...]
    torch_folder: str | None

    def packages_digest(self) -> str:
        """Return a digest that changes if a package is installed, upgraded or rebuilt: overlays depend on them."""
        parts: list[str] = [self.executable, self.version, self.abi, self.torch_digest() or ""]
        for folder in self.site_folders:
            for entry in sorted(Path(folder).glob("*.*-info")):
                record = entry / "RECORD" if (entry / "RECORD").exists() else entry
                parts.append(f"{entry.name} {record.stat().st_mtime_ns}")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def torch_digest(self) -> str | None:
        """Return the identity of its build of torch: version, headers, libraries, ABI. None without torch."""
        return None if self.torch_folder is None else build_fingerprint(Path(self.torch_folder))


@dataclasses.dataclass(frozen=True)
class Installed:
    """The facts about an interpreter's packages that an overlay needs."""

    torch: str | None
    editable: frozenset[str]


def installed_in(interpreter: Interpreter) -> Installed:
    """Ask an interpreter for its torch, and for packages that are installed from a folder that may change."""
    reported = run_command(
        [interpreter.executable, "-c", _INSTALLED], folder=Path("/"), variables=variables_without_python_path()
    )
    facts = json.loads(reported)
    return Installed(facts["torch"], frozenset(map(normal_name, facts["editable"])))


def describe(python: str) -> Interpreter:
    """Return an interpreter's description of itself."""
    reported = run_command(
        [python, "-c", _DESCRIBE],
        folder=Path("/"),
        variables=variables_without_python_path(),
        what=f"{python} is not a Python that can be used",
        remedy="Name an interpreter, or the folder of a virtual environment.",
    )
    facts = json.loads(reported)
    torch_file = facts["torch_file"]
    return Interpreter(
        executable=facts["executable"],
        version=facts["version"],
        base=facts["base"],
        abi=facts["abi"],
        is_venv=facts["is_venv"],
        site_folders=tuple(facts["site_folders"]),
        torch_folder=None if torch_file is None else str(Path(torch_file).parent),
    )


def find_python(version: str) -> Interpreter:
    """Return a Python of that version: this one, one on PATH, one of pyenv's, or one that uv knows or can fetch."""
    for candidate in _candidates(version):
        try:
            found = describe(candidate)
        except EnvironmentSpecError:
            # pyenv puts a command for every version on PATH that fails unless the version is chosen.
            continue
        if _is(version, found.version):
            return found
    uv = find_uv()
    if uv is None:
        raise EnvironmentSpecError(
            f"there is no Python {version} on PATH",
            remedy="Install it, or install uv, which fetches it: pip install photometer[environments]",
        )
    remedy = "Install that Python, or name its interpreter by its path."
    run_command([uv, "python", "install", "--quiet", version], what=f"uv cannot fetch Python {version}", remedy=remedy)
    where = run_command([uv, "python", "find", "--no-project", "--managed-python", version], remedy=remedy)
    return describe(where.strip())


def _candidates(version: str) -> Iterator[str]:
    if _is(version, sys.version.split()[0]):
        yield sys.executable
    name = "python" + ".".join(version.rstrip("t").split(".")[:2]) + ("t" if version.endswith("t") else "")
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which(name, path=folder)
        if found is not None:
            yield found
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    installed = [entry for entry in pyenv.glob("3.*") if (entry / "bin" / "python").exists()]
    for entry in sorted(installed, key=lambda entry: [int(n) for n in re.findall(r"\d+", entry.name)], reverse=True):
        if _is(version, entry.name):
            yield str(entry / "bin" / "python")


def _is(wanted: str, version: str) -> bool:
    """Whether 3.12.1 is a 3.12; a free-threaded build is another Python."""
    if wanted.endswith("t") != version.endswith("t"):
        return False
    numbers = wanted.rstrip("t").split(".")
    return version.rstrip("t").split(".")[: len(numbers)] == numbers
