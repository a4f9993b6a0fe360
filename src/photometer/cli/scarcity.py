"""What the machine lacks, in words: space on a disk, open files, or a system that can fork. No traceback helps."""

from __future__ import annotations

import errno
import sys

from photometer.errors import PhotometerError

# Each server takes about six and a run has one per core at most; below this, importing torch itself may fail.
FEWEST_OPEN_FILES = 64

_REMEDIES = {
    errno.EMFILE: "Allow more open files, such as with `ulimit -n 1024`.",
    errno.ENFILE: "Close other programs, or raise the system's limit (fs.file-max).",
    errno.ENOSPC: "Free some space, or name another folder (TMPDIR is where temporary files go). Results are kept.",
    errno.EDQUOT: "Free some space, or name another folder (TMPDIR is where temporary files go). Results are kept.",
    errno.EROFS: "Name a folder that can be written to (TMPDIR is where temporary files go).",
}


def check_open_files() -> None:
    """Raise the limit of open files if it is far too low, or say that it is."""
    try:
        import resource
    except ImportError:  # Windows, which check_system refuses with the remedy
        return
    try:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    except PermissionError:  # a container that refuses prlimit
        return
    if soft == resource.RLIM_INFINITY or soft >= FEWEST_OPEN_FILES:
        return
    if hard != resource.RLIM_INFINITY and hard < FEWEST_OPEN_FILES:
        raise PhotometerError(
            f"only {hard} files may be open at once here; photometer needs {FEWEST_OPEN_FILES}",
            remedy=_REMEDIES[errno.EMFILE],
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEWEST_OPEN_FILES, hard))


def check_system() -> None:
    """Refuse native Windows, which has neither fork nor the file locks that results need."""
    if sys.platform == "win32":
        raise PhotometerError(
            "photometer does not run on Windows itself",
            remedy="Use WSL, the Windows Subsystem for Linux (`wsl --install`); install photometer and torch there.",
        )


def lacking_words(error: OSError) -> str | None:
    """Return what is lacking and the remedy, or None if the error is of another kind."""
    if error.errno not in _REMEDIES:
        return None
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror}\n{_REMEDIES[error.errno]}"
