"""ServerStock: started environments, lent to one thread at a time and kept for the next; started when none is idle.

In: how to start one. A server that has died is not lent again. `kill` ends all of them from any thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar


class Server(Protocol):
    @property
    def greeting(self) -> dict[str, Any]: ...

    @property
    def alive(self) -> bool: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


_Server = TypeVar("_Server", bound=Server)


class ServerStock(Generic[_Server]):
    """`kind` tells servers apart that cannot stand for each other."""

    def __init__(self, start: Callable[[], _Server]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._idle: dict[object, list[_Server]] = {}
        self._all: set[_Server] = set()
        self._closed = False

    @contextlib.contextmanager
    def lend(self, kind: object = None) -> Iterator[_Server]:
        server = self._take(kind) or self._begin()
        try:
            yield server
        finally:
            with self._lock:
                fit = server.alive and not self._closed
                if fit:
                    self._idle.setdefault(kind, []).append(server)
                else:
                    self._all.discard(server)
            if not fit:
                server.close()

    def kill(self) -> None:
        """End every server at once. Those that are lent are closed by whoever has them."""
        with self._lock:
            self._closed = True
            for server in self._all:
                server.kill()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle = [server for servers in self._idle.values() for server in servers]
            self._idle.clear()
            self._all.difference_update(idle)
        for server in idle:
            server.close()

    def _take(self, kind: object) -> _Server | None:
        with self._lock:
            servers = self._idle.get(kind, [])
            while servers:
                server = servers.pop()
                if server.alive:
                    return server
                self._all.discard(server)
                server.close()
        return None

    def _begin(self) -> _Server:
        server = self._start()
        with self._lock:
            self._all.add(server)
            if self._closed:
                server.kill()
        return server
