"""One fork server of this interpreter for the whole process: started when first needed, closed at exit.

For interactive use, where measurements come one by one. It forks one child at a time, so whoever asks next takes over:
the child of the one before is closed, and that one gets a new child when it asks again.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable
from typing import Any

from photometer.errors import WorkerCrashed, WorkerTimeout
from photometer.session.fork_server import ChildProcess, ForkServer


class SharedServer:
    """Children by owner: asking with the same owner goes to the same child while nobody else has asked."""

    def __init__(self, start: Callable[[], ForkServer] = ForkServer) -> None:
        self._start = start
        self._lock = threading.RLock()
        self._server: ForkServer | None = None
        self._open = contextlib.ExitStack()
        self._owner: object | None = None
        self._child: ChildProcess | None = None

    def ask(self, owner: object, requests: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """Send requests to the owner's child, one after another, and return the answers."""
        with self._lock:
            child = self._child_of(owner)
            try:
                return [child.ask(verb, **fields) for verb, fields in requests]
            except (WorkerCrashed, WorkerTimeout):
                self._drop_child()
                raise

    def close(self) -> None:
        with self._lock:
            self._drop_child()
            if self._server is not None:
                self._server.close()
                self._server = None

    def _child_of(self, owner: object) -> ChildProcess:
        if self._child is None or self._owner is not owner:
            self._drop_child()
            if self._server is None:
                self._server = self._start()
                atexit.register(self.close)
            self._child = self._open.enter_context(self._server.child())
            self._owner = owner
        return self._child

    def _drop_child(self) -> None:
        self._child = self._owner = None
        self._open.close()


SHARED = SharedServer()
