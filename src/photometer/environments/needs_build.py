"""needs_build: detect a revision that does not run from its checkout, because parts of it are made by its installation.

In: the folder of a checkout, and why an import failed there. Out: an error that says how to have it built, or None.
The files are only read.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from photometer.errors import CannotRun

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Build back ends that are there to compile something.
COMPILING_BACK_ENDS = {
    "scikit_build_core": "scikit-build-core",
    "skbuild": "scikit-build",
    "mesonpy": "meson-python",
    "maturin": "maturin",
    "py_build_cmake": "py-build-cmake",
    "sipbuild": "sip",
    "enscons": "enscons",
}
# What a back end that need not compile is given to compile with.
COMPILING_REQUIREMENTS = ("setuptools-rust", "cython", "pybind11", "nanobind", "mypy", "cffi", "cmake", "hatch-cython")
_EXTENSIONS = re.compile(
    r"\b(ext_modules|cffi_modules|rust_extensions|CppExtension|CUDAExtension|cythonize|mypycify)\b"
)


# What a failed import looks like, also that of a library: the module that was not found, if Python names it.
_FAILED_IMPORT = re.compile(r"\b(ModuleNotFoundError|ImportError|OSError: .*\.so\b)")
_MISSING_MODULE = re.compile(r"No module named '(?P<package>\w+)\.(?P<rest>[\w.]+)'")
REMEDY = (
    'Build each revision, once: --install "pip install .", or install = "pip install ." in [tool.photometer] of '
    'pyproject.toml; for pytest: --photometer-install "pip install .". If it should be built with what is installed '
    "here, add --no-build-isolation."
)


def needs_build(side: str, checkout: Path, message: str, log: str) -> CannotRun | None:
    """Return the error of a side whose checkout lacks compiled parts; None if it failed for another reason."""
    said = f"{message}\n{log}"
    if _FAILED_IMPORT.search(said) is None:
        return None
    why = why_it_needs_a_build(checkout) or _missing_part(checkout, said)
    if why is None:
        return None
    return CannotRun(
        f"{side} cannot be imported from its checkout: {message}. Parts of it are made when it is installed ({why})",
        log=log,
        remedy=REMEDY,
    )


def _missing_part(checkout: Path, said: str) -> str | None:
    """Return the module that a package in the checkout lacks."""
    for found in _MISSING_MODULE.finditer(said):
        package = found["package"]
        if any((place / package / "__init__.py").exists() for place in (checkout, checkout / "src")):
            return f"the package {package} has no {found['rest']} there"
    return None


def why_it_needs_a_build(checkout: Path) -> str | None:
    """Return what is compiled, and what shows that; None if nothing shows it."""
    project = _project(checkout / "pyproject.toml")
    system = project.get("build-system", {})
    back_end = str(system.get("build-backend", "")).partition(".")[0].partition(":")[0]
    if back_end in COMPILING_BACK_ENDS:
        return f"pyproject.toml builds it with {COMPILING_BACK_ENDS[back_end]}"
    if "ext-modules" in project.get("tool", {}).get("setuptools", {}):
        return "pyproject.toml has ext-modules"
    for name in ("setup.py", "setup.cfg"):
        found = _EXTENSIONS.search(_text(checkout / name))
        if found is not None:
            return f"{name} has {found.group(1)}"
    for requirement in system.get("requires", ()):
        for compiler in COMPILING_REQUIREMENTS:
            if re.match(rf"{compiler}\b(?!-)", str(requirement), re.IGNORECASE):
                return f"pyproject.toml needs {compiler} to build it"
    return None


def _project(file: Path) -> dict[str, Any]:
    try:
        return dict(tomllib.loads(_text(file)))
    except ValueError:
        # Whoever builds it says what is wrong.
        return {}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
