"""A folder for results: checked before anything is measured, ignored by git, and written by one photometer at a time.

pytest's and mypy's caches are ignored by git in the same way. `hold_folder` locks a file in the folder (flock); the
kernel releases it when the process ends, for whatever reason.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from photometer.errors import ResultsFileError
from photometer.model.whole_file import not_written, write_all

# Where commands keep results, below the working folder, unless -o names another place.
RESULTS_FOLDER = Path("photometer-results")
# What `run` and `compare` write there.
RESULT_FILES = ("results.json", "comparison.json")
IGNORED = "# Made by photometer: results are not part of the code.\n*\n"


def check_results_folder(folder: Path) -> None:
    """Raise ResultsFileError if the folder cannot be written to. Make nothing."""
    whole = folder.absolute()
    there = next(each for each in (whole, *whole.parents) if each.exists())
    problem = 0 if there.is_dir() else errno.ENOTDIR
    if not problem and not os.access(there, os.W_OK | os.X_OK):
        problem = errno.EACCES
    if problem:
        error = OSError(problem, os.strerror(problem))
        raise not_written(folder, error, remedy="Name another folder with -o.")


def make_results_folder(folder: Path) -> None:
    """Make the folder and those above it. The topmost new one gets a .gitignore; one that was there is left alone."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if missing:
        # Results are worth more than their being ignored.
        with contextlib.suppress(OSError):
            (missing[-1] / ".gitignore").write_text(IGNORED, encoding="utf-8")


LOCK_NAME = ".photometer.lock"
# What flock says on a file system that does not have it.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
# What we write takes about 100 bytes; the file may be anything.
_MOST_BYTES_READ = 4096


@contextlib.contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Make the folder if need be, and keep other runs and comparisons out of it while the block runs.

    If the file system has no locks, warn and go on.
    """
    path = folder / LOCK_NAME
    try:
        make_results_folder(folder)
        descriptor = _take(path)
    except OSError as error:
        raise not_written(folder, error, remedy="Name another folder with -o.") from error
    try:
        _write_owner(descriptor, folder)
        yield
    finally:
        # Removed while it is still held: who opened it meanwhile notices that it is gone, and makes a new one.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _take(path: Path) -> int:
    """Return the descriptor of the lock file, which holds the lock until it is closed."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if not flock_or_warn(descriptor, path.parent, wait=False) or _is_still(descriptor, path):
                return descriptor
        except BlockingIOError as error:
            owner = _owner(descriptor)
            os.close(descriptor)
            raise ResultsFileError(
                f"{path.parent}: {owner} is writing its results here",
                remedy="Wait until it has ended, or name another folder with -o.",
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def flock_or_warn(descriptor: int, shown: Path, *, wait: bool = True, shared: bool = False) -> bool:
    """Lock an open file, or raise BlockingIOError without `wait`. If there are no locks here, warn and return False.

    Several may hold a `shared` lock at a time; it takes the place of one that this descriptor holds.
    """
    problem: object
    try:
        import fcntl

        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind | (0 if wait else fcntl.LOCK_NB))
    except ImportError as error:  # Windows
        problem = error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        problem = error.strerror
    else:
        return True
    warnings.warn(f"{shown} cannot be locked ({problem}): let only one process write to it at a time", stacklevel=2)
    return False


def _is_still(descriptor: int, path: Path) -> bool:
    """Whether the locked file still has that name: its former owner removes it when it ends."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _write_owner(descriptor: int, folder: Path) -> None:
    owner = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
    try:
        os.ftruncate(descriptor, 0)
        write_all(descriptor, json.dumps(owner).encode("ascii"))
    except OSError as error:
        raise not_written(folder, error, remedy="Name another folder with -o.") from error


def _owner(descriptor: int) -> str:
    try:
        owner = json.loads(os.pread(descriptor, _MOST_BYTES_READ, 0))
        pid, host, since = int(owner["pid"]), str(owner["host"]), str(owner["since"])
    except (ValueError, TypeError, KeyError, RecursionError):
        # The owner has the lock, but has not written its name yet.
        return "another process"
    there = "" if host == platform.node() else f" on {host}"
    return f"process {pid}{there}, since {since},"
