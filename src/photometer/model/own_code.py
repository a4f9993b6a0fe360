"""Where the user's own code is: the folders that a benchmark's process can import from, besides its environment.

`python -m` has the working directory on its path; so have photometer's commands, and for a suite's file also the root
of its git checkout and `src` there. A server imports torch first and gets the folders then, after the standard library
and before installed packages: no file of the user's takes the place of one that torch needs.
"""

from __future__ import annotations

import contextlib
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

HOW_TO_ADD = "Start photometer in the folder that the module is in, or add its folder: PYTHONPATH=DIR photometer …"


def importable_here() -> tuple[str, ...]:
    """Return the folders that this process imports from, without those of its interpreter."""
    own = [os.path.abspath(entry) for entry in sys.path if not entry.endswith(".zip")]  # noqa: PTH100
    installed = tuple(_installed())
    return tuple(dict.fromkeys(entry for entry in own if not _is_below(entry, installed)))


def own_folders(suites: Iterable[str | Path] = ()) -> tuple[str, ...]:
    """Return the working directory and, for a suite's file, its own folder, its git root and `src` there."""
    folders: list[Path] = []
    with contextlib.suppress(OSError):  # it was removed
        folders.append(Path.cwd())
    for suite in suites:
        file = _file_of(str(suite))
        if file is not None:
            folders += _of_file(file.resolve())
    return tuple(dict.fromkeys(str(folder) for folder in folders))


def _file_of(suite: str) -> Path | None:
    """Return the file of a suite; for another tool's suite, such as `asv:benchmarks`, perhaps a folder."""
    place, colon, _ = suite.rpartition(":")
    file = Path(place if colon and place.endswith(".py") else suite)
    if file.suffix == ".py" and file.is_file():
        return file
    _, colon, place = suite.partition(":")
    return Path(place) if colon and place and Path(place).exists() else None


def _of_file(file: Path) -> Iterator[Path]:
    yield file.parent
    root = git_root(file.parent)
    if root is not None:
        yield root
        if (root / "src").is_dir():
            yield root / "src"


def searched_folders() -> str:
    """Return the folders in which this process looks for a module, in words."""
    return "searched in: " + ", ".join(entry or "." for entry in sys.path if not entry.endswith(".zip"))


def git_root(folder: Path) -> Path | None:
    """Return the top of the git checkout that a folder is in. A worktree has a file of that name there."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _installed() -> Iterator[str]:
    """Yield the folders of the interpreter itself: standard library, installed packages, programs."""
    yield from (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts"))
    yield from site.getsitepackages()
    yield site.getusersitepackages()
    # Debian has packages beside those that Python's own scheme names.
    yield os.path.join(sys.base_prefix, "lib", "python3", "dist-packages")  # noqa: PTH118


def _is_below(entry: str, folders: tuple[str, ...]) -> bool:
    return any(entry == folder or entry.startswith(folder + os.sep) for folder in folders)
