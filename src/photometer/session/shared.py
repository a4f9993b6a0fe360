"""The session of this process: servers of its own interpreter, kept between interactive measurements.

A Timer's C++ loop and its instruction counts run here, so that a second measurement need not start a server again. It
starts when first needed and ends with the process; a fork of this process gets its own.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from photometer.errors import ProtocolError, WorkerCrashed, WorkerTimeout
from photometer.session.child_process import ChildProcess
from photometer.session.session import Session
from photometer.worker.messages import Reply, Request

_lock = threading.Lock()
_session: tuple[int, Session] | None = None


def process_session() -> Session:
    """Return the session of this process, created on first use."""
    global _session
    with _lock:
        # In a fork of this process, the servers and their sockets are the parent's.
        if _session is None or _session[0] != os.getpid():
            session = Session()
            _session = (os.getpid(), session)
            atexit.register(_close, os.getpid(), session)
        return _session[1]


def _close(owner: int, session: Session) -> None:
    if owner == os.getpid():
        session.close()


class SharedChild:
    """One child, shared: an owner keeps its child until another owner needs one.

    A server forks one child at a time. When another owner needs one, the current child is closed; its owner gets a new
    child at its next request.
    """

    def __init__(self, session: Callable[[], Session] = process_session) -> None:
        self._session = session
        self._lock = threading.RLock()
        self._open = contextlib.ExitStack()
        self._owner: object | None = None
        self._child: ChildProcess | None = None
        self._process = os.getpid()
        self._closes_at_exit = False

    def ask(self, owner: object, requests: Sequence[Request[Any]]) -> list[Reply]:
        """Send requests to the owner's child one by one, and return the replies."""
        with self._lock:
            child = self._child_of(owner)
            try:
                return [child.ask(request) for request in requests]
            except (WorkerCrashed, WorkerTimeout, ProtocolError):
                self.close()
                raise

    def close(self) -> None:
        with self._lock:
            self._child = self._owner = None
            if self._process == os.getpid():
                self._open.close()
            else:
                # The child is the parent's, which will close it.
                self._open = contextlib.ExitStack()
                self._process = os.getpid()

    def _child_of(self, owner: object) -> ChildProcess:
        if self._child is None or self._owner is not owner or self._process != os.getpid():
            self.close()
            self._child = self._open.enter_context(self._session().child())
            self._owner = owner
            # Registered after the session's own, so that it runs before it.
            if not self._closes_at_exit:
                atexit.register(self.close)
                self._closes_at_exit = True
        return self._child


SHARED_CHILD = SharedChild()
