"""overlay: packages laid over an interpreter: a folder that goes before the packages that are installed there.

What a request needs is resolved against what is installed, so a package that is there already is not fetched again, and
torch is never replaced. The folder is kept by its lock, made once, and never changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from photometer.environments.installers import Installer
from photometer.environments.interpreter import Interpreter, installed_in
from photometer.environments.kept import KeptEnvironments, key_of
from photometer.environments.packaged import local_archives, lock_or_last, version_in
from photometer.environments.packages import PackageRequest

# Raised if what is in a kept folder changes: older ones are then not found any more.
_FORM = 1


@dataclasses.dataclass(frozen=True)
class Overlay:
    """`folder` goes first on the path. `found` are the packages asked for, with the versions that were laid."""

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
    asked = key_of("overlay request", _FORM, installer.name, request.digest(), interpreter.packages_digest())
    lock = lock_or_last(asked, kept, lambda: installer.lock_over(request, interpreter, below))
    key = key_of("overlay", _FORM, installer.name, lock, interpreter.version, interpreter.abi, local_archives(request))
    versions = ((name, version_in(lock, name)) for name in request.names)
    found = tuple((name, version) for name, version in versions if version is not None)
    about = [("laid over", f"Python {interpreter.version}"), ("made by", installer.name)]
    title = "pip:" + " ".join(request.lines)
    with kept.use(key, title, lambda folder: installer.lay(folder, interpreter, lock), about) as folder:
        yield Overlay(folder, key, found, bool(below.editable - set(request.names)))
