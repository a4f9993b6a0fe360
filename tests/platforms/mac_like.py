"""A Mac as far as Python can tell: imported first by an interpreter of `fake_mac.py`, near side and worker alike.

What macOS does not have is taken away: /proc, /sys, the affinity of processes, limits of other processes, accounting
per thread. Real libraries of macOS, its linker and its scheduler are not imitated; nobody has tried those.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import platform
import sys
import sysconfig
import urllib.request  # noqa: F401 - it wants a module that only macOS has, if it is imported there
from collections.abc import Callable
from typing import Any

MISSING = ("/proc", "/sys")


def pretend() -> None:
    if sys.platform == "darwin":  # the file that calls this is read for each folder of packages
        return
    # It looks for a file that is named after the platform.
    sysconfig.get_config_vars()
    sys.platform = "darwin"
    for name in ("sched_getaffinity", "sched_setaffinity"):
        delattr(os, name)
    import resource

    for name in ("prlimit", "RUSAGE_THREAD"):
        delattr(resource, name)
    _hide_folders()
    _name_system()


def _hide_folders() -> None:
    def checked(function: Callable[..., Any]) -> Any:
        def call(path: Any, *arguments: Any, **options: Any) -> Any:
            if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(MISSING):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
            return function(path, *arguments, **options)

        return call

    builtins.open = io.open = checked(io.open)
    for name in ("listdir", "scandir", "stat", "lstat", "access", "readlink"):
        setattr(os, name, checked(getattr(os, name)))


def _name_system() -> None:
    """`platform.system()` says Darwin to photometer alone: torch would look for its libraries by other names."""
    real = platform.system

    def system() -> str:
        caller = str(sys._getframe(1).f_globals.get("__name__", ""))
        return "Darwin" if caller.startswith(("photometer", "_photometer")) else real()

    platform.system = system
