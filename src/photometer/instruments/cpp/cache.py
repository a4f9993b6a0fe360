"""The cache of compiled snippets on disk: one library per key, private to its user, bounded in size.

In: a key (of everything the machine code depends on). Out: the path of a library. Snippets that were compiled together
are hard links to one file. Files appear by rename, so a reader sees a complete library or none. Builders use a lock, so
that only one of several processes compiles a snippet that all of them need.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from photometer.model.code_folder import cache_root, code_folder_locked, make_code_folder

# A library has 0.1 to 1 MB, and a suite of eighty snippets needs a few: room for a hundred suites or builds of torch.
MOST_BYTES = 512 * 1024 * 1024
# Another process may be about to load a library used this recently: it is kept, whatever the size.
GRACE_SECONDS = 15 * 60
_KEY = re.compile(r"[0-9a-f]{32}")
# Every name that is written here: libraries, their headers and a compiler's identity (compiler.py), both also half
# written, and folders of builds.
_OWN_FILE = re.compile(r"[0-9a-f]{32}(\.so|\.headers\.json(\.\d+)?)|compiler-[0-9a-f]{32}(\.\d+)?")
_OWN_FOLDER = re.compile(r"build-\d+-\d+")


@dataclass(frozen=True)
class CacheUsage:
    """The content of the cache.

    `snippets` may exceed `libraries`: one library contains all that were compiled together.
    """

    folder: Path
    snippets: int
    libraries: int
    size_bytes: int
    most_bytes: int
    # What `clear` found and left, because the cache does not write such names, or because it is a link.
    left: tuple[Path, ...] = ()


@dataclass(frozen=True)
class _Library:
    """A file in the cache with all its names."""

    paths: tuple[Path, ...]
    size_bytes: int
    used_at: float


def default_cache_folder() -> Path:
    """Return `$PHOTOMETER_CACHE/cpp`, or `photometer/cpp` in the user's cache folder if it is not set."""
    return cache_root() / "cpp"


class SnippetCache:
    """The libraries in one folder. The constructor creates the folder, or refuses an unsafe one."""

    def __init__(self, folder: Path | None = None, *, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder if folder is not None else default_cache_folder()
        self._most_bytes = most_bytes
        self._is_locked = False
        make_code_folder(self.folder)

    def find(self, key: str) -> Path | None:
        """Return the library of a key, if it exists and the user's headers that it includes are unchanged."""
        library = self._library_path(key)
        if not library.is_file() or not self._headers_unchanged(key):
            return None
        # Record the time of last use: the oldest are dropped first. Another process may have just dropped this one.
        try:
            os.utime(library)
        except FileNotFoundError:
            return None
        return library

    def publish(self, library: Path, headers_by_key: Mapping[str, Collection[Path]]) -> dict[str, Path]:
        """Give a new library one name per key. `library` must be in a folder from `scratch`."""
        published = {}
        for key, headers in headers_by_key.items():
            _replace_text(self._headers_path(key), json.dumps(_header_stamps(headers)))
            link = library.with_name(f"{key}.so")
            try:
                os.link(library, link)
            except OSError:
                # Some file systems have no hard links.
                shutil.copyfile(library, link)
            published[key] = self._library_path(key)
            link.replace(published[key])
        return published

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock while building. The kernel releases it if this process dies."""
        with code_folder_locked(self.folder) as locked:
            self._is_locked = locked
            try:
                yield
            finally:
                self._is_locked = False

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Create a folder for one build, on the cache's file system so that results can be renamed into place."""
        folder = self.folder / f"build-{os.getpid()}-{time.monotonic_ns()}"
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def usage(self) -> CacheUsage:
        libraries = self._libraries()
        return CacheUsage(
            folder=self.folder,
            snippets=sum(len(library.paths) for library in libraries),
            libraries=len(libraries),
            size_bytes=sum(library.size_bytes for library in libraries),
            most_bytes=self._most_bytes,
        )

    def clear(self) -> CacheUsage:
        """Wait for a running build, remove the cache's own files, and return what they were and what is left.

        Files with other names belong to someone else, and so does everything behind a link.
        """
        if self.folder.is_symlink():
            return CacheUsage(self.folder, 0, 0, 0, self._most_bytes, left=(self.folder,))
        left = []
        with self.lock():
            before = self.usage()
            for entry in sorted(self.folder.iterdir()):
                if entry.is_dir() and not entry.is_symlink() and _OWN_FOLDER.fullmatch(entry.name):
                    shutil.rmtree(entry, ignore_errors=True)
                elif entry.is_file() and not entry.is_symlink() and _OWN_FILE.fullmatch(entry.name):
                    entry.unlink(missing_ok=True)
                elif entry.name != "lock":
                    left.append(entry)
        return replace(before, left=tuple(left))

    def trim(self, *, now: float | None = None) -> int:
        """Drop the least recently used libraries until the rest fits; return how many. Call it under the lock."""
        now = time.time() if now is None else now
        if self._is_locked:
            self._remove_abandoned()
        libraries = sorted(self._libraries(), key=lambda library: library.used_at)
        excess = sum(library.size_bytes for library in libraries) - self._most_bytes
        dropped = 0
        for library in libraries:
            if excess <= 0 or library.used_at > now - GRACE_SECONDS:
                break
            for path in library.paths:
                path.unlink(missing_ok=True)
                self._headers_path(path.stem).unlink(missing_ok=True)
            excess -= library.size_bytes
            dropped += 1
        return dropped

    def _library_path(self, key: str) -> Path:
        return self.folder / f"{key}.so"

    def _headers_path(self, key: str) -> Path:
        return self.folder / f"{key}.headers.json"

    def _headers_unchanged(self, key: str) -> bool:
        try:
            stamps = json.loads(self._headers_path(key).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return False
        return isinstance(stamps, dict) and all(_stamp(Path(path)) == stamp for path, stamp in stamps.items())

    def _libraries(self) -> list[_Library]:
        by_file: dict[tuple[int, int], list[tuple[Path, os.stat_result]]] = {}
        for path in self.folder.glob("*.so"):
            if not _KEY.fullmatch(path.stem) or path.is_symlink() or not path.is_file():
                continue
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                by_file.setdefault((status.st_dev, status.st_ino), []).append((path, status))
        return [
            _Library(tuple(path for path, _ in names), names[0][1].st_size, names[0][1].st_mtime)
            for names in by_file.values()
        ]

    def _remove_abandoned(self) -> None:
        """Remove the folders of builds that were killed. Nobody else builds while this process holds the lock."""
        for folder in self.folder.glob("build-*"):
            if _OWN_FOLDER.fullmatch(folder.name) and not folder.name.startswith(f"build-{os.getpid()}-"):
                shutil.rmtree(folder, ignore_errors=True)


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size]


def _header_stamps(headers: Collection[Path]) -> dict[str, list[int] | None]:
    return {str(path): _stamp(path) for path in headers}


def _replace_text(path: Path, text: str) -> None:
    scratch = path.with_name(f"{path.name}.{os.getpid()}")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)
