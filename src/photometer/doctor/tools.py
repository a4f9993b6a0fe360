"""Findings about the tools that photometer uses: Valgrind, the C++ compiler, py-spy, free disk space."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from photometer.doctor.finding import Finding, State
from photometer.errors import ToolMissing
from photometer.instruments.code_folder import cache_root
from photometer.instruments.cpp.compiler import find_compiler
from photometer.instruments.cpp.snippet import CppOptions
from photometer.instruments.py_spy import find_py_spy, refusal_remedy
from photometer.session.valgrind import find_valgrind

PY_SPY_SECONDS = 20.0
# Scripted models, compiled snippets, counts and a checkout: a GiB or so in daily use.
LEAST_FREE_GIB = 2.0
GIB = 2**30


def tool_findings() -> list[Finding]:
    return [_valgrind(), _compiler(), _py_spy(), _disk()]


def _valgrind() -> Finding:
    try:
        valgrind = find_valgrind()
    except ToolMissing as missing:
        return Finding("Valgrind", State.MEND, missing.message, missing.remedy or "")
    return Finding("Valgrind", State.GOOD, f"{valgrind.version_string} ({valgrind.path})")


def _compiler() -> Finding:
    try:
        # What it finds out about the compiler is remembered there; a doctor writes nothing.
        with tempfile.TemporaryDirectory() as folder:
            compiler = find_compiler(CppOptions(), Path(folder))
    except ToolMissing as missing:
        return Finding("C++ compiler", State.MEND, missing.message, missing.remedy or "")
    return Finding("C++ compiler", State.GOOD, compiler.identity)


def _py_spy() -> Finding:
    """Try it on this process: whether it may look is decided by capabilities, Yama and seccomp together."""
    try:
        program = find_py_spy()
    except ToolMissing as missing:
        return Finding("py-spy", State.MEND, missing.message, missing.remedy or "")
    command = [program, "dump", "--pid", str(os.getpid())]
    try:
        tried = subprocess.run(
            command, capture_output=True, text=True, timeout=PY_SPY_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("py-spy", State.MEND, f"does not run: {error}", "Install it again: pip install py-spy.")
    if tried.returncode == 0:
        return Finding("py-spy", State.GOOD, "may look into processes (ptrace)")
    return Finding("py-spy", State.MEND, "may not look into other processes (ptrace)", refusal_remedy())


def _disk() -> Finding:
    places = {"the cache": _existing(cache_root()), "temporary files": Path(tempfile.gettempdir())}
    free = {name: shutil.disk_usage(place).free / GIB for name, place in places.items()}
    shown = ", ".join(f"{gib:.1f} GiB for {name}" for name, gib in free.items())
    if min(free.values()) >= LEAST_FREE_GIB:
        return Finding("free disk", State.GOOD, shown)
    advice = "Free some: `photometer cache` shows what photometer keeps. PHOTOMETER_CACHE and TMPDIR name other places."
    return Finding("free disk", State.MEND, shown, advice)


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())
