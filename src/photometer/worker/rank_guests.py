"""Ranks on another machine than the child that asks them: its guests (ranks.py).

A child there is asked to host ranks: it opens a port and forks a process that waits at it. Each connection that brings
the right word becomes a rank of its own, for one group; it ends with the connection. The child that leads the group
invites as many as it was promised. Standard library only.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import struct
from collections.abc import Callable
from typing import Any, ClassVar

from .messages import Reply, Request
from .protocol import receive_message, send_message
from .ranks import Joining, RankFailed, Serves, die_with_parent, live_as_rank

# A machine of the same cluster replies within milliseconds; a busy one takes longer to fork.
CONNECTING_SECONDS = 30.0


@dataclasses.dataclass(frozen=True)
class Hosting(Reply):
    port: int


@dataclasses.dataclass(frozen=True)
class HostRanks(Request[Hosting]):
    """Wait for connections that bring this word; each becomes a rank, until the child ends."""

    verb: ClassVar[str] = "host-ranks"
    reply: ClassVar[type[Reply]] = Hosting
    key: str
    device: str = ""
    visible_devices: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Invitations:
    """The guests of a group: addresses with the number of ranks at each. `address` is that of this machine."""

    address: str
    hosts: tuple[tuple[str, int], ...]
    key: str

    @property
    def count(self) -> int:
        return sum(count for _, count in self.hosts)

    def invite(self, first_rank: int, world_size: int, meeting: str) -> list[socket.socket]:
        """Connect to each guest, and tell it its rank and where the group meets."""
        lines: list[socket.socket] = []
        try:
            for where, count in self.hosts:
                host, _, port = where.rpartition(":")
                for local_rank in range(count):
                    line = socket.create_connection((host, int(port)), CONNECTING_SECONDS)
                    lines.append(line)
                    line.settimeout(None)
                    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    invitation = {"key": self.key, "rank": first_rank + len(lines) - 1, "count": world_size}
                    local = {"local_rank": local_rank, "local_count": count, "meeting": meeting}
                    send_message(line.fileno(), {**invitation, **local})
        except OSError as error:
            for line in lines:
                line.close()
            raise RankFailed(f"the machine at {where} cannot be reached: {error}") from None
        return lines


def wait_for_guests(
    request: HostRanks, make_child: Callable[[dict[str, Any]], Serves], *, before_block: str
) -> Hosting:
    """Fork the process that waits. It ends with this one, and each rank with its connection, or with this one."""
    parent = os.getpid()
    listening = socket.create_server(("", 0))
    port = listening.getsockname()[1]
    if os.fork() == 0:
        try:
            die_with_parent(parent)
            # Nobody waits for its ranks.
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            host = os.getpid()
            while True:
                line, _ = listening.accept()
                if os.fork() == 0:
                    listening.close()
                    _become_rank(host, line, request.key, make_child, before_block)
                line.close()
        finally:
            os._exit(1)
    listening.close()
    return Hosting(port)


def _become_rank(
    host: int, line: socket.socket, key: str, make_child: Callable[[dict[str, Any]], Serves], before_block: str
) -> None:
    """Be the rank that the connection asks for, if it brings the word. Never return."""
    import hmac

    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Not `settimeout`: reading from its descriptor would then not wait at all.
        _wait_at_most(line, CONNECTING_SECONDS)
        asked = receive_message(line.fileno())
        if not hmac.compare_digest(str(asked.get("key", "")), key):
            os._exit(1)
        _wait_at_most(line, 0)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        place = {name: int(asked[name]) for name in ("rank", "count", "local_rank", "local_count")}
        joining = Joining(**place, store=-1, meeting=str(asked["meeting"]), before_block=before_block, barrier=None)
        live_as_rank(host, line.detach(), joining, make_child)
    finally:
        os._exit(1)


def _wait_at_most(line: socket.socket, seconds: float) -> None:
    """Limit how long reading from a connection waits; 0 for as long as it takes."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(seconds), 0))
