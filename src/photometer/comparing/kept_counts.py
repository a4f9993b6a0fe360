"""KeptCounts: the instruction counts of a revision, kept in the cache, so that the next comparison with it counts less.

A count depends only on what is in its key: the revision, the interpreter with its packages, the variables, the
benchmark's code, and the instrument (Valgrind, our worker, this processor); the memory layout is always the frozen one.
Counts are kept only for sides whose code cannot change under the same name: git revisions, and locked packages. The
files are data; one that cannot be read is ignored.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from photometer.environments.interpreter import describe
from photometer.environments.resolved import ResolvedEnvironment
from photometer.errors import PhotometerError
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.ready_order import ReadyOrder, task_spec_of
from photometer.model.code_folder import cache_root, make_code_folder
from photometer.model.instruction_counts import FunctionCounts, InstructionCounts
from photometer.model.records import from_record, to_record
from photometer.model.whole_file import write_text_whole
from photometer.plan.work_order import WorkOrder
from photometer.session.policy import FIXED_VARIABLES, simd_variables
from photometer.session.valgrind import find_valgrind

FOLDER = "counts"
# A count takes 20 to 200 kB; the oldest are removed if the total exceeds this.
MOST_BYTES = 256 * 1024 * 1024
# Version of the files: raise it when their fields change.
VERSION = 1
# Every name that this module gives to a file: that of a count, and those of further data beside it.
_OWN_FILE = re.compile(r"[0-9a-f]{40}(\.\w+)?\.json")


@dataclasses.dataclass(frozen=True)
class SideCount:
    """One order on one side under one layout."""

    counts: InstructionCounts
    functions: FunctionCounts
    # As pack_stacks leaves them: the whole tree of a large model is many megabytes.
    packed_stacks: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class CountsUsage:
    folder: Path
    counts: int
    size_bytes: int
    # What `clear` found and left, because no count has such a name, or because it is a link.
    left: tuple[Path, ...] = ()


class KeptCounts:
    """The counts of one side. If `side` is None, nothing is found and nothing is written."""

    def __init__(self, side: str | None, folder: Path | None = None) -> None:
        self._side = side
        self._folder = folder or counts_folder()

    @classmethod
    def of(cls, resolved: ResolvedEnvironment | None) -> KeptCounts:
        """Return the kept counts of a revision or of locked packages; empty for any other environment."""
        if resolved is None:
            return cls(None)
        if resolved.checkout is None and (resolved.spec.path or not resolved.has_locked_packages):
            return cls(None)
        if resolved.checkout is not None and resolved.checkout.tree_digest is not None:
            return cls(None)
        try:
            packages = describe(resolved.environment.python).packages_digest()
            tool = find_valgrind()
        except PhotometerError:
            return cls(None)
        identity = resolved.identity()
        # The text that was typed does not identify a side: `git:main` is another commit tomorrow.
        del identity["spec"]
        parts = [VERSION, identity, packages, tool.version_string, _worker_digest(), _processor(), FIXED_VARIABLES]
        return cls(_digest([*parts, simd_variables()]))

    def find(self, ready: ReadyOrder, task: CountTask) -> SideCount | None:
        """Return the count; None if there is none, or it cannot be read."""
        if self._side is None:
            return None
        try:
            record = json.loads(self._path(ready.order, task).read_text())
            found = SideCount(
                from_record(InstructionCounts, record["counts"]),
                from_record(FunctionCounts, record["functions"]),
                dict(record["stacks"]),
            )
        except (OSError, ValueError, KeyError, TypeError, PhotometerError):
            return None
        return found

    def keep(self, ready: ReadyOrder, task: CountTask, count: SideCount) -> None:
        """Write the count. If that fails, only the next comparison takes longer."""
        if self._side is None:
            return
        record = {
            "counts": to_record(count.counts),
            "functions": to_record(count.functions),
            "stacks": count.packed_stacks,
        }
        with contextlib.suppress(OSError, PhotometerError):
            make_code_folder(self._folder, self._folder.parent)
            write_text_whole(self._path(ready.order, task), json.dumps(record))

    @property
    def is_kept(self) -> bool:
        return self._side is not None

    def has_all(self, orders: Iterable[WorkOrder]) -> bool:
        """Return whether every order that can be counted has a kept count."""
        return self._side is not None and all(
            self._path(order, CountTask(task_spec_of(order), seed=order.seed)).exists()
            for order in orders
            if order.counts_instructions and not order.auto.on_device
        )

    def beside(self, order: WorkOrder, task: CountTask, what: str) -> Path | None:
        """Return the path for further data about a count; None if this side is not kept."""
        return None if self._side is None else self._path(order, task).with_suffix(f".{what}.json")

    def _path(self, order: WorkOrder, task: CountTask) -> Path:
        args = order.args
        code = [order.id, order.model_id, args.stmt, args.setup, args.global_setup, args.num_threads]
        runs = [task.number, task.repeats, task.warmup_runs, task.seed]
        return self._folder / f"{_digest([self._side, *code, *runs])}.json"


def counts_folder() -> Path:
    return cache_root() / FOLDER


def usage(folder: Path | None = None) -> CountsUsage:
    """Return how many counts are kept, and their size."""
    folder = folder or counts_folder()
    files = _own_files(folder)
    return CountsUsage(folder, len(files), sum(file.stat().st_size for file in files))


def clear(folder: Path | None = None) -> CountsUsage:
    """Remove the files of counts and return their usage. Other files, and files behind a link, are left."""
    folder = folder or counts_folder()
    if folder.is_symlink():
        return CountsUsage(folder, 0, 0, left=(folder,))
    before = usage(folder)
    for file in _own_files(folder):
        file.unlink(missing_ok=True)
    return dataclasses.replace(before, left=tuple(sorted(folder.iterdir())) if folder.is_dir() else ())


def prune(folder: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
    """Remove the oldest until the rest takes no more than `most_bytes`."""
    folder = folder or counts_folder()
    files = [(file.stat().st_mtime, file.stat().st_size, file) for file in _own_files(folder)]
    left = sum(size for _, size, _ in files)
    for _, size, file in sorted(files):
        if left <= most_bytes:
            return
        file.unlink(missing_ok=True)
        left -= size


def _own_files(folder: Path) -> list[Path]:
    return [
        file
        for file in (folder.glob("*.json") if folder.is_dir() else ())
        if _OWN_FILE.fullmatch(file.name) and file.is_file() and not file.is_symlink()
    ]


def _worker_digest() -> str:
    """Return a digest of the worker's code, which is part of what is counted."""
    import photometer.worker

    folder = Path(photometer.worker.__file__).parent
    return _digest([(path.name, path.read_text()) for path in sorted(folder.glob("*.py"))])


def _processor() -> list[str]:
    """Return the processor's properties by which libraries choose their code."""
    names = []
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = sorted({line for line in lines if line.startswith(("model name", "flags"))})
    return [platform.machine(), platform.libc_ver()[1], os.environ.get("GLIBC_TUNABLES", ""), *names]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:40]
