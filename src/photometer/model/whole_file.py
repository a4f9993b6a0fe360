"""Write files whole or not at all, and say why one could not be written: a full disk is named, with what is kept.

`write_whole` replaces a file by a new one; `write_all` writes into an open one. Both pass errors to `not_written`.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

from photometer.errors import ResultsFileError

_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
_FULL = {errno.ENOSPC: "no space left on", errno.EDQUOT: "your quota is used up on"}


def write_whole(path: Path, content: bytes, *, overwrite: bool = True, durable: bool = True) -> None:
    """Write under another name and move into place; without `overwrite`, an existing file is an OSError.

    A path that is not a file, such as /dev/stdout, cannot be replaced: it is written to. A file that can be made again
    need not be `durable`: a power cut may destroy it, and thousands of files take seconds, not minutes.
    """
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        with path.open("wb", buffering=0) as file:
            write_all(file.fileno(), content)
        return
    # Not tempfile: it makes files for the owner alone, and results are for others to read too.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.new")
    try:
        with temporary.open("xb", buffering=0) as file:
            write_all(file.fileno(), content)
            if durable:
                os.fsync(file.fileno())
        if overwrite:
            temporary.replace(path)
        else:
            _move_to_free_name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text_whole(path: Path, text: str, *, kept: str = "", durable: bool = True) -> None:
    """Write a text in UTF-8; an error says what was kept.

    Lone surrogates, which UTF-8 cannot hold, are escaped.
    """
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"), durable=durable)
    except OSError as error:
        raise not_written(path, error, kept=kept) from error


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte: on a disk that is nearly full, one call writes only a part, without an error."""
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def not_written(path: Path, error: OSError, *, kept: str = "", remedy: str = "") -> ResultsFileError:
    """Return the error that says why `path` could not be written, and what of it is `kept`."""
    ending = f"; {kept}" if kept else ""
    if error.errno in _FULL:
        return ResultsFileError(
            f"{path}: {_FULL[error.errno]} {_mount_point(path)}{ending}",
            remedy="Free some space there, or name a folder on another disk.",
        )
    return ResultsFileError(
        f"{path}: cannot be written to: {error.strerror or error}{ending}",
        remedy=remedy or "Check that the folder exists and is yours.",
    )


def _mount_point(path: Path) -> Path:
    """Return the folder where the file system of `path` begins."""
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if folder.is_mount() or folder == folder.parent)


def _move_to_free_name(temporary: Path, path: Path) -> None:
    try:
        # Unlike a rename, a link refuses to replace what is there, even what came there a moment ago.
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS or path.exists():
            raise
        temporary.replace(path)
