"""Import once: run the import statements of set-ups in a zygote, and notice those that each fork must run itself.

In: import statements as text, in their order. Out: the first that cannot be shared, with the reason. An import cannot
be shared if it leaves something that a fork does not have (threads, an opened device), that all forks would share
(open files, running processes), or that a child sets before its imports run (threads of torch, the folder).
Standard library and torch only.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from .accelerators import all_of

DEVICE_FILES = all_of(lambda backend: backend.files)
# They have no position that forks would share.
STATELESS_FILES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


class NotShared(Exception):
    """An import that every fork must do itself: the statement, and why."""

    def __init__(self, statement: str, reason: str) -> None:
        super().__init__(f"{statement}: {reason}")
        self.statement = statement
        self.reason = reason


def import_all(statements: Sequence[str]) -> None:
    """Run the statements in their order. Raise NotShared at the first that cannot be shared."""
    own_pid = os.getpid()
    for statement in statements:
        before = State.now()
        try:
            exec(compile(statement, "<import>", "exec"), {"__name__": "__main__"})
        except ModuleNotFoundError as error:
            if not _names(statement, error.name or ""):
                raise NotShared(statement, f"it fails ({error})") from error
            # It is not to be found; the set-up says so, unless it finds it by itself.
            continue
        except BaseException as error:  # SystemExit and its like, too
            raise NotShared(statement, f"it fails ({type(error).__name__}: {error})") from error
        finally:
            if os.getpid() != own_pid:
                # The import has forked, and the fork came back to us.
                os._exit(0)
        reason = State.now().differs_from(before)
        if reason is not None:
            raise NotShared(statement, reason)


def _names(statement: str, module: str) -> bool:
    """Return whether the statement itself imports the module, not something that it imports."""
    words = statement.replace(",", " ").replace(".", " ").split()
    return bool(module) and module.partition(".")[0] in words


class State(NamedTuple):
    """The state that an import may change and forks do not inherit, or that a child sets before its set-up runs."""

    threads: int
    # By descriptor, the device and the inode: names have another length in each process, and would leave another heap.
    files: dict[int, tuple[int, int]]
    children: int
    folder: str
    torch_threads: int
    collector_is_on: bool

    @classmethod
    def now(cls) -> State:
        torch = sys.modules.get("torch")
        return cls(
            threads=_entries("/proc/self/task"),
            files=_open_files(),
            children=_children(),
            folder=os.getcwd(),  # noqa: PTH109
            # None is imported here if the interpreter has none, or only by the statement itself.
            torch_threads=0 if torch is None else torch.get_num_threads(),
            collector_is_on=gc.isenabled(),
        )

    def differs_from(self, before: State) -> str | None:
        """Return why the changes since `before` cannot be shared; None if they can."""
        new_files = _names_of([number for number, file in self.files.items() if before.files.get(number) != file])
        devices = [name for name in new_files if name.startswith(DEVICE_FILES)]
        reasons = {
            "it starts threads": self.threads > before.threads,
            f"it opens a device ({', '.join(devices)})": bool(devices),
            f"it leaves a file or connection open ({', '.join(new_files)})": bool(new_files),
            "it leaves a process running": self.children > before.children,
            "it changes the working folder": self.folder != before.folder,
            "it sets torch's number of threads": before.torch_threads not in (0, self.torch_threads),
            "it switches the garbage collector on": self.collector_is_on and not before.collector_is_on,
        }
        return next((reason for reason, applies in reasons.items() if applies), None)


def shadowed(folders: Sequence[str]) -> str | None:
    """Return the name of a loaded module that one of the folders would have provided; None if there is none."""
    loaded = {name.partition(".")[0] for name in sys.modules} - set(sys.builtin_module_names) - {"__main__"}
    for folder in folders:
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder):  # noqa: PTH208
                name = entry.partition(".")[0]
                if name in loaded and (entry.endswith((".py", ".so")) or _is_package(folder, entry)):
                    return name
    return None


def _is_package(folder: str, entry: str) -> bool:
    return os.path.isfile(f"{folder}/{entry}/__init__.py")  # noqa: PTH113


def _open_files() -> dict[int, tuple[int, int]]:
    found = {}
    with contextlib.suppress(OSError):
        for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
            # The listing's own descriptor is gone.
            with contextlib.suppress(OSError):
                status = os.fstat(number)
                found[number] = (status.st_dev, status.st_ino)
    return found


def _names_of(descriptors: list[int]) -> list[str]:
    """Return the names of open files whose position forks would share."""
    names = []
    for number in descriptors:
        with contextlib.suppress(OSError):
            name = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
            if name not in STATELESS_FILES:
                names.append(name)
    return names


def _children() -> int:
    try:
        # A path with the pid in it would not always have the same length.
        with open("/proc/thread-self/children") as file:  # noqa: PTH123
            return len(file.read().split())
    except OSError:
        return 0


def _entries(folder: str) -> int:
    try:
        return len(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return 0
