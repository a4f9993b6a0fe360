"""share_files: equal files of several environments kept once on disk, as hard links.

A torch has gigabytes of libraries and headers, and ten environments would have them ten times. What is equal is known
from the hashes that every installed package lists in its RECORD. uv does this by itself; this is for pip.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import csv
import os
from collections.abc import Iterator
from pathlib import Path

# Below, a file is not worth a link.
SMALLEST_BYTES = 16 * 1024


def share_files(environment: Path, store: Path) -> int:
    """Link the files of an environment with equal ones in `store`; put new ones there. Return the bytes saved.

    Python's own sources are left alone: their byte code names their date, which a link would change.
    """
    store.mkdir(mode=0o700, exist_ok=True)
    saved = 0
    for file, digest in recorded_files(environment):
        # The file system may have no hard links, or a file as many as it can have.
        with contextlib.suppress(OSError):
            saved += _share(file, store / digest)
    return saved


def drop_unshared(store: Path) -> None:
    """Remove from the store what no environment has any more."""
    if store.is_dir():
        for file in store.iterdir():
            with contextlib.suppress(OSError):
                if file.stat().st_nlink == 1:
                    file.unlink()


def recorded_files(environment: Path) -> Iterator[tuple[Path, str]]:
    """Yield the larger files that packages brought, with the SHA-256 that their RECORD names."""
    for record in environment.glob("lib/python*/site-packages/*.dist-info/RECORD"):
        site = record.parents[1]
        with record.open(encoding="utf-8", newline="") as lines:
            for row in csv.reader(lines):
                if len(row) < 3 or not row[1].startswith("sha256=") or row[0].endswith(".py"):
                    continue
                if not row[2].isdigit() or int(row[2]) < SMALLEST_BYTES:
                    continue
                file = site / row[0]
                digest = _hexadecimal(row[1].removeprefix("sha256="))
                if digest is not None and file.is_file() and not file.is_symlink():
                    yield file, digest


def _share(file: Path, kept: Path) -> int:
    status = file.stat()
    # A script must stay executable: another mode is another file.
    kept = kept.with_name(f"{kept.name}-{status.st_mode & 0o777:o}")
    if not kept.exists():
        os.link(file, kept)
        return 0
    if kept.stat().st_ino == status.st_ino or kept.stat().st_size != status.st_size:
        return 0
    new = file.with_name(f"{file.name}.photometer-link")
    os.link(kept, new)
    new.replace(file)
    return status.st_size


def _hexadecimal(text: str) -> str | None:
    """Return the digits of a hash that RECORD writes as base64 without its padding."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()
    except (binascii.Error, ValueError):
        return None
