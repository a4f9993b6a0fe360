"""KeptEnvironments: environments that were made once, each in a folder named by what it was made of.

A user of one holds a shared lock on it; making and removing need an exclusive lock. The record beside a folder is
written last, so a folder without one was left by a killed process and is made again. If they exceed the limit of disk
space, the least recently used are removed. Equal files of several environments are kept once, as hard links
(share_files).
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import csv
import dataclasses
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from photometer.environments.command import CommandStopped, stops
from photometer.model.code_folder import cache_root, filling, make_code_folder
from photometer.model.results_folder import flock_or_warn
from photometer.model.whole_file import write_whole

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


# Some ten builds of torch with CUDA, which share most files, or a hundred without.
MOST_BYTES = 40 * 1024**3
# How often to look whether another process has done what this one waits for.
WAIT_SECONDS = 0.1
# All names have one length: that of a path shifts what lies in memory after it.
_KEY = re.compile(r"[0-9a-f]{16}")


def key_of(*parts: object) -> str:
    """Return the name of the environment that is made of these parts."""
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]


@dataclasses.dataclass(frozen=True)
class KeptEnvironment:
    """A kept environment. `title` is the request, `about` the parts that it was made of."""

    key: str
    folder: Path
    title: str
    about: tuple[tuple[str, str], ...]
    size_bytes: int
    used_at: float
    in_use: bool


class KeptEnvironments:
    """The environments in one folder, by default `environments` in photometer's cache."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        most_bytes: int = MOST_BYTES,
        on_make: Callable[[str], object] = lambda title: None,
    ) -> None:
        """Call `on_make` with the title of what has to be made, in the thread that makes it."""
        self.folder = cache_root() / "environments" if folder is None else folder
        self.most_bytes = most_bytes
        self._on_make = on_make
        make_code_folder(self.folder)

    @contextlib.contextmanager
    def use(
        self, key: str, title: str, make: Callable[[Path], None], about: Sequence[tuple[str, str]] = ()
    ) -> Iterator[Path]:
        """Yield the folder, made by `make` if it does not exist; nobody removes it while the block runs."""
        with self._opened(key) as lock:
            self._wait_for(lock, shared=True)
            while not self._is_whole(key):
                # Released and taken again by the kernel: another process may come between, hence the loop.
                self._wait_for(lock)
                if not self._is_whole(key):
                    self._on_make(title)
                    self._make(key, title, make, about)
                    self.trim(keep=key)
                self._wait_for(lock, shared=True)
            with contextlib.suppress(FileNotFoundError):
                os.utime(self._record(key))
            yield self.folder / key

    def _wait_for(self, lock: int, *, shared: bool = False) -> None:
        """Wait until another process has made or removed it, unless commands are stopped."""
        stops_before = stops()
        while True:
            try:
                flock_or_warn(lock, self.folder, wait=False, shared=shared)
                return
            except BlockingIOError:
                if stops() != stops_before:
                    raise CommandStopped("stopped while another process makes the environment") from None
                time.sleep(WAIT_SECONDS)

    def present(self) -> list[KeptEnvironment]:
        """Return all complete environments, the last used first.

        A file that several have is counted for the first of them.
        """
        seen: set[tuple[int, int]] = set()
        found = []
        for record in sorted(self.folder.glob("*.json"), key=_used_at, reverse=True):
            if not _KEY.fullmatch(record.stem) or not (self.folder / record.stem).is_dir():
                continue
            content = _read(record)
            found.append(
                KeptEnvironment(
                    record.stem,
                    self.folder / record.stem,
                    str(content.get("title", "")),
                    tuple((str(name), str(value)) for name, value in dict(content.get("about", {})).items()),
                    _disk_bytes(self.folder / record.stem, seen),
                    _used_at(record),
                    self._is_held(record.stem),
                )
            )
        return found

    def remove(self, key: str) -> bool:
        """Remove an environment; return False if it is in use."""
        with self._opened(key) as lock:
            try:
                flock_or_warn(lock, self.folder, wait=False)
            except BlockingIOError:
                return False
            self._delete(key)
        drop_unshared(self.folder / "files")
        return True

    def clear(self) -> tuple[list[KeptEnvironment], list[KeptEnvironment]]:
        """Remove all that are not in use, and leftovers of killed processes. Return the removed and the kept ones."""
        gone: list[KeptEnvironment] = []
        stayed: list[KeptEnvironment] = []
        for kept in self.present():
            (gone if self.remove(kept.key) else stayed).append(kept)
        for entry in self.folder.iterdir():
            if _KEY.fullmatch(entry.name) and not self._record(entry.name).exists():
                self.remove(entry.name)
        return gone, stayed

    def trim(self, *, keep: str = "") -> list[KeptEnvironment]:
        """Remove the least recently used until the rest fits, except those in use; return the removed ones."""
        kept = self.present()
        excess = sum(each.size_bytes for each in kept) - self.most_bytes
        gone = []
        for each in reversed(kept):
            if excess <= 0:
                break
            if each.key != keep and self.remove(each.key):
                excess -= each.size_bytes
                gone.append(each)
        return gone

    def _make(self, key: str, title: str, make: Callable[[Path], None], about: Sequence[tuple[str, str]]) -> None:
        self._delete(key)
        try:
            with filling(self.folder):
                make(self.folder / key)
                text = json.dumps({"title": title, "about": dict(about), "made_at": time.time()}, indent=2)
                write_whole(self._record(key), f"{text}\n".encode())
        except BaseException:
            # Also after Ctrl-C: half an environment is worth nothing.
            self._delete(key)
            raise

    def _delete(self, key: str) -> None:
        # The record first: without it nobody takes the folder for whole.
        self._record(key).unlink(missing_ok=True)
        shutil.rmtree(self.folder / key, ignore_errors=True)

    def _is_whole(self, key: str) -> bool:
        return self._record(key).is_file() and (self.folder / key).is_dir()

    def _is_held(self, key: str) -> bool:
        with self._opened(key) as lock:
            try:
                flock_or_warn(lock, self.folder, wait=False)
            except BlockingIOError:
                return True
        return False

    def _record(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    @contextlib.contextmanager
    def _opened(self, key: str) -> Iterator[int]:
        with filling(self.folder):
            (self.folder / "locks").mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(self.folder / "locks" / key, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _read(record: Path) -> dict[str, Any]:
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _used_at(record: Path) -> float:
    try:
        return record.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _disk_bytes(folder: Path, seen: set[tuple[int, int]]) -> int:
    """Return the size of a folder on disk, without the files in `seen`, to which its own are added."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(place, name))  # noqa: PTH118  a hundred thousand files
                if (status.st_dev, status.st_ino) not in seen:
                    seen.add((status.st_dev, status.st_ino))
                    size += status.st_blocks * 512
    return size
