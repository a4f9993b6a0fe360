"""Warm zygotes: those that outlive their command, so that the next one need not import anything again.

A kept zygote is named by all its inputs: interpreter, variables, path, imports, Valgrind, and photometer's own worker.
It writes a record of the files it has imported, and is used again only if none of them has changed since, and no other
file would be imported in its place. Everything lies in one folder that only this user can enter.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from photometer.errors import CacheError
from photometer.model.code_folder import make_code_folder
from photometer.session.policy import available_bytes
from photometer.session.zygote import WORKER, Launch, Place, Zygote, connect
from photometer.worker.messages import PROTOCOL_VERSION

VARIABLE = "PHOTOMETER_KEEP"
"""How many seconds zygotes are kept after their last use; 0 for not at all. The commands' --no-keep sets it to 0."""
KEEP_SECONDS = 600.0
# One under Valgrind has 1.2 GB, and a comparison starts a few.
LEAST_AVAILABLE_BYTES = 6 * 1024**3
# A comparison of two revisions starts six; one under Valgrind has 200 MB besides what it shares.
MOST_KEPT = 24
_NAME = re.compile(r"[0-9a-f]{24}")
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def keep_seconds() -> float:
    """Return how long zygotes are kept: the value of PHOTOMETER_KEEP, or 0 without it."""
    try:
        chosen = float(os.environ.get(VARIABLE) or 0.0)
    except ValueError:
        return 0.0
    free = available_bytes()
    has_memory = free is not None and free >= LEAST_AVAILABLE_BYTES
    return chosen if sys.platform == "linux" and 0.0 < chosen < float("inf") and has_memory else 0.0


def keep_in_terminal(seconds: float | None = None, *, in_terminal: bool | None = None) -> str:
    """Return a command's value of PHOTOMETER_KEEP: the user's own, else the project's (`seconds`).

    By default ten minutes in a terminal, and nothing elsewhere or in CI.
    """
    if VARIABLE in os.environ:
        return os.environ[VARIABLE]
    if in_terminal is None:
        in_terminal = sys.stderr is not None and sys.stderr.isatty()
    keeps = in_terminal and not os.environ.get("CI")
    return f"{KEEP_SECONDS if seconds is None else seconds:g}" if keeps else "0"


def runtime_folder() -> Path:
    """Return the folder for kept zygotes: that of the login session, or one in the temporary folder."""
    session = os.environ.get("XDG_RUNTIME_DIR")
    if session and Path(session).is_absolute() and os.access(session, os.W_OK | os.X_OK):
        # After `sudo -E` it is that of the user before.
        with contextlib.suppress(OSError):
            if Path(session).stat().st_uid == os.getuid():
                return Path(session) / "photometer"
    return Path(tempfile.gettempdir()) / f"photometer-warm-{os.getuid()}"


@dataclasses.dataclass(frozen=True)
class WarmZygote:
    """A kept zygote, from its record. `size_bytes` includes its share of memory in common with others."""

    name: str
    title: str
    imports: tuple[str, ...]
    pid: int
    age_seconds: float
    size_bytes: int | None
    is_current: bool


class WarmFolder:
    """The kept zygotes of this user."""

    def __init__(self, seconds: float, folder: Path | None = None) -> None:
        """Create the folder. Raise CacheError if somebody else could write to it."""
        self.seconds = seconds
        folder = runtime_folder() if folder is None else folder
        if folder.is_symlink():
            raise CacheError(f"{folder} is a link, so it is not used for servers that stay warm", remedy="Remove it.")
        self.folder = make_code_folder(folder)

    def place(self, name: str) -> Place:
        return Place(self.folder / name, self.folder / f"{name}.sock", self.folder / f"{name}.json", self.seconds)

    def open(self, launch: Launch, parent: Zygote | None) -> tuple[Zygote, bool]:
        """Return the zygote for this launch, and whether it had to be started: forked from `parent` if there is one."""
        name = name_of(launch)
        place = self.place(name)
        with self._locked(name):
            if self.can_be_used(name):
                with contextlib.suppress(OSError):
                    os.utime(place.socket)
                return Zygote(place, self._dumps(place, parent), None, None), False
            self.remove(name)
            self._make_room()
            place.folder.mkdir(mode=0o700)
            return (Zygote.first(launch, place) if parent is None else parent.branch(launch, place)), True

    def _make_room(self) -> None:
        """End the least recently used zygotes, if there are many. Servers that were forked from one go on."""
        places = [self.place(path.stem) for path in self.folder.glob("*.sock")]
        for place in sorted(places, key=lambda each: _used_at(each.socket))[: len(places) + 1 - MOST_KEPT]:
            # One that is being started or replaced has its name locked; the others are not that old.
            self.remove(place.folder.name)

    def replace(self, zygote: Zygote) -> None:
        """End a zygote that does not work: the next one that is opened is new."""
        name = zygote.place.folder.name
        with self._locked(name):
            self.remove(name)

    def present(self) -> list[WarmZygote]:
        """Return all that are ready, the oldest first."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            record = read_record(path)
            if _NAME.fullmatch(path.stem) and record is not None and _is_running(record):
                found.append(
                    WarmZygote(
                        path.stem,
                        str(record.get("title", "")),
                        tuple(map(str, record.get("imports", ()))),
                        record["pid"],
                        time.clock_gettime(time.CLOCK_BOOTTIME) - record["started_ticks"] / _CLOCK_TICKS,
                        _own_bytes(record["pid"]),
                        is_current(record),
                    )
                )
        return sorted(found, key=lambda each: -each.age_seconds)

    def clear(self) -> int:
        """End all zygotes, even those that are starting. Return how many were ready."""
        ready = len(self.present())
        for name in {path.name.partition(".")[0] for path in self.folder.iterdir()}:
            if _NAME.fullmatch(name):
                with self._locked(name):
                    self.remove(name)
                (self.folder / f"{name}.lock").unlink(missing_ok=True)
        return ready

    def remove(self, name: str) -> None:
        """End a zygote if it runs, and remove its files. The name is locked."""
        place = self.place(name)
        assert place.record is not None
        record = read_record(place.record)
        if record is not None and _is_running(record):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(record["pid"], signal.SIGKILL)
        # One that is still starting has no record: it ends when it finds that its socket is gone.
        for file in (place.record, place.socket):
            file.unlink(missing_ok=True)
        shutil.rmtree(place.folder, ignore_errors=True)

    def can_be_used(self, name: str) -> bool:
        """Return whether a zygote of ours listens there, and has imported the files that would be imported now."""
        place = self.place(name)
        assert place.record is not None
        try:
            status = place.socket.lstat()
            if status.st_uid != os.getuid() or not stat.S_ISSOCK(status.st_mode):
                return False
            if not place.record.exists():
                # Another command has just started it, if it is there.
                connect(place.socket).close()
                return True
        except OSError:
            return False
        record = read_record(place.record)
        return record is not None and _is_running(record) and is_current(record)

    def _dumps(self, place: Place, parent: Zygote | None) -> Path:
        return place.folder if parent is None else parent.dumps

    @contextlib.contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        descriptor = os.open(self.folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def open_warm_folder() -> WarmFolder | None:
    """Return the folder of kept zygotes; None if none are kept, or its folder is not safe."""
    seconds = keep_seconds()
    if not seconds:
        return None
    try:
        return WarmFolder(seconds)
    except (CacheError, OSError):
        return None


def name_of(launch: Launch) -> str:
    """Return a name made of all inputs of a zygote."""
    python = Path(launch.python)
    with contextlib.suppress(OSError):
        python = python.resolve()
    tools = [_identity(Path(word)) for word in (str(python), *launch.wrapper[:1])]
    parts = [PROTOCOL_VERSION, worker_digest(), str(python), tools, dataclasses.asdict(launch)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:24]


@functools.lru_cache(maxsize=1)
def worker_digest() -> str:
    """Return a digest of the worker's code: each version of photometer has zygotes of its own."""
    digest = hashlib.sha256()
    for file in sorted(WORKER.parent.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def is_current(record: Mapping[str, Any]) -> bool:
    """Return whether all files that a zygote has imported are as they were before it, and would be imported again."""
    for file, (loaded_after, *changed_ns) in record["files"].items():
        try:
            status = os.stat(file)  # noqa: PTH116  thousands of files
        except (OSError, ValueError):
            # A damaged record may have a name that no file can have.
            return False
        # A clock that was set back makes a changed file look old, so its times must be the same, too.
        now_ns = [status.st_mtime_ns, status.st_ctime_ns]
        if max(now_ns) >= loaded_after or now_ns != changed_ns:
            return False
    return not _is_shadowed(record["path"], record["found_in"])


def _is_shadowed(path: Sequence[str], found_in: Mapping[str, str]) -> bool:
    """Return whether a folder on the path has a module that was imported from a folder after it."""
    places = {folder: index for index, folder in reversed(list(enumerate(path)))}
    for index, folder in enumerate(path):
        try:
            entries = os.listdir(folder)  # noqa: PTH208
        except (OSError, ValueError):
            continue
        for entry in entries:
            name, _, suffix = entry.partition(".")
            after = places.get(found_in.get(name, ""), -1) > index
            if after and (suffix == "py" or suffix.endswith("so") or _is_package(folder, entry)):
                return True
    return False


def _is_package(folder: str, entry: str) -> bool:
    return os.path.isfile(f"{folder}/{entry}/__init__.py")  # noqa: PTH113


def _used_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def read_record(path: Path) -> dict[str, Any] | None:
    """Return a record; None if there is none, or it is not valid."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        right = (
            isinstance(record["pid"], int)
            and isinstance(record["started_ticks"], int)
            and record["version"] == PROTOCOL_VERSION
            and all(len(times) == 3 and all(isinstance(n, int) for n in times) for times in record["files"].values())
            and all(isinstance(folder, str) for folder in [*record["path"], *record["found_in"].values()])
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return record if right else None


def _is_running(record: Mapping[str, Any]) -> bool:
    """Return whether the process of a record runs, and belongs to this user: its pid may have been reused."""
    try:
        status = os.stat(f"/proc/{record['pid']}")  # noqa: PTH116
        text = Path(f"/proc/{record['pid']}/stat").read_text()
        state, *fields = text.rpartition(")")[2].split()
        return status.st_uid == os.getuid() and state not in "ZX" and int(fields[18]) == record["started_ticks"]
    except (OSError, ValueError, IndexError):
        return False


def _identity(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _own_bytes(pid: int) -> int | None:
    """Return the memory of a zygote and its template, including their share of memory in common with others."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        # Servers have groups of their own.
        own = [pid, *(child for each in children if os.getpgid(child := int(each)) == os.getpgid(pid))]
        texts = [Path(f"/proc/{each}/smaps_rollup").read_text() for each in own]
    except OSError:
        return None
    found = [re.search(r"^Pss:\s*(\d+) kB", text, re.MULTILINE) for text in texts]
    return 1024 * sum(int(each[1]) for each in found if each) or None
