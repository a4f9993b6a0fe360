"""packaged: the environment that a PackageRequest describes: made once, and kept by its lock.

If the index cannot be reached, the lock that the same request had last is used, and a warning says so. Packages without
a torch are an overlay: a folder that goes before the packages that are installed in an interpreter.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from photometer.environments.command import CommandStopped
from photometer.environments.installers import Installer
from photometer.environments.interpreter import Interpreter, installed_in
from photometer.environments.kept import KeptEnvironments, key_of
from photometer.environments.packages import PackageRequest
from photometer.errors import EnvironmentSpecError
from photometer.model.code_folder import filling, make_code_folder
from photometer.model.whole_file import write_whole

# Raised if what is in a kept folder changes: older ones are then not found any more.
_LAID = 1


@dataclasses.dataclass(frozen=True)
class Overlay:
    """`folder` goes first on the path. `found` are the requested packages, with their versions."""

    folder: Path
    key: str
    found: tuple[tuple[str, str], ...]
    # Whether something below is imported from a folder of sources, whose content may change at any time.
    is_over_sources: bool


@contextlib.contextmanager
def overlay(
    request: PackageRequest, interpreter: Interpreter, kept: KeptEnvironments, installer: Installer
) -> Iterator[Overlay]:
    """Yield the folder; it stays while the block runs."""
    below = installed_in(interpreter)
    asked = key_of("overlay request", _LAID, installer.name, request.digest(), interpreter.packages_digest())
    lock = lock_or_last(asked, kept, lambda: installer.lock_over(request, interpreter, below))
    key = key_of("overlay", _LAID, installer.name, lock, interpreter.version, interpreter.abi, local_archives(request))
    versions = ((name, version_in(lock, name)) for name in request.names)
    found = tuple((name, version) for name, version in versions if version is not None)
    about = [("laid over", f"Python {interpreter.version}"), ("made by", installer.name)]
    title = "pip:" + " ".join(request.lines)
    with kept.use(key, title, lambda folder: installer.lay(folder, interpreter, lock), about) as folder:
        yield Overlay(folder, key, found, bool(below.editable - set(request.names)))


# Raised if what is in a kept environment changes: older ones are then not found any more.
_FORM = 1


@dataclasses.dataclass(frozen=True)
class Packaged:
    """An environment with packages. `key` identifies it; `torch` is its version of torch, if any."""

    folder: Path
    key: str
    torch: str | None

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")


@contextlib.contextmanager
def packaged(
    request: PackageRequest, interpreter: Interpreter, kept: KeptEnvironments, installer: Installer
) -> Iterator[Packaged]:
    """Yield the environment; it stays while the block runs."""
    asked = key_of("request", _FORM, installer.name, request.digest(), interpreter.base, interpreter.version)
    lock = lock_or_last(asked, kept, lambda: installer.lock(request, interpreter))
    files = local_archives(request)
    key = key_of("packages", _FORM, installer.name, lock, interpreter.base, interpreter.version, interpreter.abi, files)
    torch = torch_in(lock)
    about = [("Python", interpreter.version), ("torch", torch or "none"), ("made by", installer.name)]
    title = "pip:" + " ".join(request.lines)
    with kept.use(key, title, lambda folder: installer.make(folder, interpreter, lock), about) as folder:
        yield Packaged(folder, key, torch)


def torch_in(lock: str) -> str | None:
    """Return the version of torch in a lock."""
    return version_in(lock, "torch")


def version_in(lock: str, name: str) -> str | None:
    """Return the version of a package in a lock, in the form of uv or of pip."""
    spelled = re.escape(name).replace(r"\-", "[-_.]+")
    found = re.search(
        rf"^{spelled}(?:==(\S+)| @ \S*/{spelled}-([^-/]+?)(?:-|\.tar\.gz|\.zip))", lock, re.MULTILINE | re.IGNORECASE
    )
    return None if found is None else (found.group(1) or found.group(2)).replace("%2B", "+")


def lock_or_last(request_key: str, kept: KeptEnvironments, resolve: Callable[[], str]) -> str:
    """Return the lock of a request; if it cannot be resolved now, the last one, with a warning."""
    memory = kept.folder / "locks-of-requests" / f"{request_key}.txt"
    try:
        lock = resolve()
    except CommandStopped:
        raise
    except EnvironmentSpecError as error:
        if not memory.is_file():
            raise
        date = time.strftime("%Y-%m-%d", time.localtime(memory.stat().st_mtime))
        warnings.warn(f"using the packages found on {date}, because now {error.message}", stacklevel=2)
        return memory.read_text(encoding="utf-8")
    with filling(kept.folder):
        make_code_folder(memory.parent)
        write_whole(memory, lock.encode())
    return lock


def local_archives(request: PackageRequest) -> list[tuple[str, int, int]]:
    """Return the wheels and archives of the request itself: their content may change under one name."""
    named = [(file, file.stat()) for file in request.files if str(file) in request.lines]
    return [(str(file), status.st_size, status.st_mtime_ns) for file, status in named]
