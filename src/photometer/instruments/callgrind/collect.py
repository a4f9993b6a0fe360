"""Timer.collect_callgrind's work: one task in, CallgrindStats out, counted by a server that the process keeps.

The server starts with the first call (import of torch under Valgrind, some 15 s); later calls cost about a second.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from typing import Any

from photometer.errors import WorkerCrashed
from photometer.instruments.callgrind.copied_global import copy_globals
from photometer.instruments.callgrind.count_task import DEFAULT_NUMBER, CountedTask, CountTask
from photometer.instruments.callgrind.counting_server import CountingServer
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.model.environment import Environment
from photometer.model.task import TaskSpec


class KeptServers:
    """The counting servers of this process, one for each kind of simulation that was asked for."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._servers: dict[tuple[bool, bool], CountingServer] = {}
        self._owner = os.getpid()

    def count(
        self,
        task: CountTask,
        *,
        keep_text: bool = False,
        cache_simulation: bool = False,
        branch_simulation: bool = False,
    ) -> CountedTask:
        with self._lock:
            if self._owner != os.getpid():
                # A fork of ours: the servers are the parent's, and so are their sockets.
                self._servers, self._owner = {}, os.getpid()
            kind = (cache_simulation, branch_simulation)
            if kind not in self._servers:
                self._servers[kind] = CountingServer(
                    current_environment(), cache_simulation=cache_simulation, branch_simulation=branch_simulation
                )
            server = self._servers[kind]
            try:
                return server.count(task, keep_text=keep_text)
            except WorkerCrashed:
                if not server.alive:
                    del self._servers[kind]
                    server.close()
                raise

    def close(self) -> None:
        with self._lock:
            if self._owner == os.getpid():
                for server in self._servers.values():
                    server.close()
            self._servers = {}


KEPT = KeptServers()
atexit.register(KEPT.close)


def current_environment() -> Environment:
    """This interpreter with this PYTHONPATH: a torch that is found through it must be found over there too."""
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return Environment.current(path=tuple(os.path.abspath(folder) for folder in folders if folder))  # noqa: PTH100


def count_statement(
    task_spec: TaskSpec,
    *,
    stmt: str | None = None,
    globals: Mapping[str, Any] | None = None,
    built: BuiltSnippet | None = None,
    number: int = DEFAULT_NUMBER,
    repeats: int = 1,
    keep_text: bool = False,
    cache_simulation: bool = False,
    branch_simulation: bool = False,
) -> CountedTask:
    """Count one statement with the process's own server."""
    task = CountTask(task_spec, stmt, copy_globals(globals or {}), built, number, repeats)
    return KEPT.count(task, keep_text=keep_text, cache_simulation=cache_simulation, branch_simulation=branch_simulation)
