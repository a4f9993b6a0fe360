"""Ranks: a statement that needs several processes runs in a group of them, which the child forks.

In: a Prepare with `ranks`, then requests for the group. Each rank is a fork of the child, joins torch.distributed's
default group, and does what a child does; a block begins when all ranks have reached it, outside their clocks. Out: one
reply for all: the time of a block is that of its slowest rank. The first rank that fails, or dies, ends the group.
Ranks on other machines (`guests`) are forks of a child there (rank_guests.py), and are asked over a connection.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import faulthandler
import fcntl
import functools
import mmap
import os
import re
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, Protocol, cast

from .accelerators import NoDevice, default_kind, find_backend, open_device
from .figure_messages import CountWork, Observe
from .messages import (
    Failed,
    MeasureMemory,
    Prepare,
    Prepared,
    Reply,
    Request,
    Time,
    TimeBlocks,
    Timed,
    TimedBlocks,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
)
from .protocol import Disconnected, receive_message, send_message
from .torch_here import needed_torch
from .user_error import describe_exception

# The names that the set-up and the statement of a rank see.
RANK, WORLD_SIZE = "rank", "world_size"
# Ranks that were asked to leave end within milliseconds, unless they are inside a collective.
LEAVING_SECONDS = 1.0
# Longer than a block of any sane statement: each rank then writes its place, which a time-out shows.
PATIENCE_SECONDS = 20.0
# The connections of a rank that dies are closed one after the other: torch's may be the first.
DEATH_SECONDS = 0.5
# A signal is handled at once, on a busy machine after some milliseconds; a stack has some kilobytes.
WRITING_SECONDS = 0.2
MOST_BYTES = 1 << 16
# What is asked of all ranks at the same time must run the statement equally often in each.
FOR_RANKS = (Prepare, Time, TimeBlocks, MeasureMemory, Observe, CountWork)
# gloo and NCCL talk over the interface that these name: the machine's own network, whatever its name resolves to, or
# that on which it reaches the other machines.
INTERFACES, LOOPBACK = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"), "lo"
# Longer than any measurement: it is the request's own time limit that ends a group.
STORE_PATIENCE = datetime.timedelta(hours=24)
_ADDRESS_OF_INTERFACE = 0x8915  # SIOCGIFADDR of <linux/sockios.h>

_FRAME = re.compile(r'File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$')


class RankFailed(RuntimeError):
    """A rank has ended, or cannot join."""


class Serves(Protocol):
    """The interface of a child that a rank needs."""

    def reply_to(self, request: Request[Any]) -> Reply: ...


class Guests(Protocol):
    """Ranks on other machines, which are the last of a group."""

    @property
    def address(self) -> str:
        """The address by which they reach this machine."""

    @property
    def count(self) -> int: ...

    def invite(self, first_rank: int, world_size: int, meeting: str) -> list[socket.socket]:
        """Connect to each, and tell it its rank and where the group meets. Return the lines to them."""


class RankGroup:
    """The processes of a group, as seen by the child that forked them."""

    def __init__(
        self,
        count: int,
        make_child: Callable[[dict[str, Any]], Serves],
        *,
        before_block: str,
        patience_seconds: float = PATIENCE_SECONDS,
        guests: Guests | None = None,
    ) -> None:
        """Fork the ranks, of which the last ones may be guests of other machines.

        `before_block` is the name under which a child finds what runs before each block.
        """
        if sys.platform != "linux":
            raise RankFailed("a group of ranks needs Linux: elsewhere a process that has imported torch is not forked")
        self._count = count
        self._patience_seconds = patience_seconds
        here = count - (0 if guests is None else guests.count)
        # Files without a name: nobody else can open them, and nobody has to remove them. One is torch's store; into the
        # others each rank writes where it is.
        store = os.memfd_create("photometer-ranks")
        self._whereabouts = [os.memfd_create("photometer-rank") for _ in range(here)]
        self._store_host = 0
        meeting = ""
        if guests is not None:
            self._store_host, port = host_store()
            meeting = f"{guests.address}:{port}"
        self._lines: list[socket.socket] = []
        self._pids: list[int] = []
        parent = os.getpid()
        barrier = Barrier(count)
        for rank in range(here):
            ours, its = socket.socketpair()
            pid = os.fork()
            if pid == 0:
                for line in (*self._lines, ours):
                    line.close()
                faulthandler.register(signal.SIGUSR1, file=self._whereabouts[rank], all_threads=False)
                joining = Joining(rank, count, rank, here, store, meeting, before_block, barrier)
                live_as_rank(parent, its.detach(), joining, make_child)
            its.close()
            self._lines.append(ours)
            self._pids.append(pid)
        os.close(store)
        if guests is not None:
            try:
                self._lines += guests.invite(here, count, meeting)
            except BaseException:
                self.end()
                raise

    def ask(self, request: Request[Any]) -> Reply:
        """Have all ranks do it at the same time; return one reply. A rank that fails ends all."""
        if not isinstance(request, FOR_RANKS):
            raise RankFailed(
                f"{request.verb!r} is not done with ranks: it would run a different number of times in each"
            )
        if not self._lines:
            raise RankFailed("the ranks have ended")
        try:
            for line in self._lines:
                with contextlib.suppress(ConnectionError):  # its end is noticed when its reply is missing
                    send_message(line.fileno(), encode_request(request))
            return merged(request, list(self._replies(request)))
        except BaseException:
            self.end()
            raise

    def _replies(self, request: Request[Any]) -> Iterator[Reply]:
        """Yield the reply of each rank in order; raise for the first that fails, or dies."""
        replies: dict[int, Reply] = {}
        waiting = select.poll()
        place = {line.fileno(): rank for rank, line in enumerate(self._lines)}
        for descriptor in place:
            waiting.register(descriptor, select.POLLIN)
        patience: float | None = self._patience_seconds * 1e3
        while len(replies) < self._count:
            ready = waiting.poll(patience)
            if not ready:
                patience = None
                self._have_them_say_where_they_are(replies)
            for descriptor, _ in ready:
                rank = place[descriptor]
                waiting.unregister(descriptor)
                replies[rank] = self._reply_of(rank, request)
        yield from (replies[rank] for rank in range(self._count))

    def _reply_of(self, rank: int, request: Request[Any]) -> Reply:
        try:
            reply = decode_reply(request.reply, receive_message(self._lines[rank].fileno()))
        except (Disconnected, ConnectionError):
            raise RankFailed(f"rank {rank} of {self._count} {self._end_of(rank)}") from None
        if isinstance(reply, Failed):
            self._raise_for_a_death(rank)
            raise _InRank(rank, self._count, reply)
        return reply

    def _raise_for_a_death(self, failed: int) -> None:
        """Raise if another rank has died: that the one which failed lost its connection is then a consequence."""
        place = {line.fileno(): rank for rank, line in enumerate(self._lines) if rank != failed}
        waiting = select.poll()
        for descriptor in place:
            waiting.register(descriptor, select.POLLRDHUP)
        for descriptor, _ in waiting.poll(DEATH_SECONDS * 1e3):
            rank = place[descriptor]
            raise RankFailed(f"rank {rank} of {self._count} {self._end_of(rank)}")

    def _end_of(self, rank: int) -> str:
        """Return how a rank ended after its line was closed."""
        if rank >= len(self._pids):
            return "on another machine ended, or its machine is gone"
        _, status = os.waitpid(self._pids[rank], 0)
        self._pids[rank] = 0
        if os.WIFSIGNALED(status):
            return f"died of {signal.Signals(os.WTERMSIG(status)).name}"
        return f"ended with exit status {os.WEXITSTATUS(status)}"

    def _have_them_say_where_they_are(self, replies: dict[int, Reply]) -> None:
        """Write the places of ranks without a reply into the output that a time-out shows."""
        late = [rank for rank in range(len(self._pids)) if rank not in replies]
        for rank in late:
            os.ftruncate(self._whereabouts[rank], 0)
            os.lseek(self._whereabouts[rank], 0, os.SEEK_SET)
            os.kill(self._pids[rank], signal.SIGUSR1)
        time.sleep(WRITING_SECONDS)
        for rank in late:
            found = users_frames(os.pread(self._whereabouts[rank], MOST_BYTES, 0).decode(errors="replace"))
            sys.stderr.write(
                f"rank {rank} of {self._count} has not replied after {self._patience_seconds:g} s: {found}\n"
            )
        sys.stderr.flush()

    def end(self) -> None:
        """End all ranks; those inside a collective are killed."""
        for line in self._lines:
            line.close()
        self._lines.clear()
        while self._whereabouts:
            os.close(self._whereabouts.pop())
        deadline = time.monotonic() + LEAVING_SECONDS
        if self._store_host:
            os.kill(self._store_host, signal.SIGKILL)
            self._pids.append(self._store_host)
            self._store_host = 0
        for pid in filter(None, self._pids):
            while os.waitpid(pid, os.WNOHANG) == (0, 0):
                if time.monotonic() < deadline:
                    time.sleep(0.002)
                else:
                    os.kill(pid, signal.SIGKILL)
                    deadline = time.monotonic() + LEAVING_SECONDS
        self._pids.clear()


class _InRank(Exception):
    """The failure of a rank, to be passed on unchanged."""

    def __init__(self, rank: int, count: int, failed: Failed) -> None:
        message = f"{failed.message} (in rank {rank} of {count})"
        super().__init__(message)
        self.failed = dataclasses.replace(failed, message=message)


def reply_of_group(group: RankGroup, request: Request[Any]) -> Reply:
    """Return the reply of the group; the failure of a rank in the rank's own words."""
    try:
        return group.ask(request)
    except _InRank as error:
        return error.failed
    except RankFailed as error:
        return Failed(type(error).__name__, str(error), "")


def merged(request: Request[Any], replies: Sequence[Reply]) -> Reply:
    """Return one reply for all ranks: the slowest one's times with those of all, and otherwise that of rank 0."""
    if isinstance(request, Time):
        seconds = [cast(Timed, reply).seconds for reply in replies]
        return Timed(max(seconds), seconds)
    if isinstance(request, TimeBlocks):
        taken = [cast(TimedBlocks, reply) for reply in replies]
        blocks = [each.block_seconds for each in taken]
        return TimedBlocks(
            [max(block) for block in zip(*blocks, strict=True)],
            [sum(block) for block in zip(*(each.block_preemptions for each in taken), strict=True)],
            max(each.wall_seconds for each in taken),
            max(each.cpu_seconds for each in taken),
            blocks,
        )
    if isinstance(request, Prepare):
        prepared = [cast(Prepared, reply) for reply in replies]
        return dataclasses.replace(prepared[0], first_seconds=max(each.first_seconds for each in prepared))
    return replies[0]


class Barrier:
    """All ranks leave within a microsecond: each counts in shared memory, and polls until the others have counted."""

    def __init__(self, count: int) -> None:
        self._arrived = memoryview(mmap.mmap(-1, 8 * count)).cast("q")

    def wait(self, rank: int) -> None:
        """Wait for the others. A rank that never comes is noticed by the child, which then ends all."""
        arrived = self._arrived
        turn = arrived[rank] + 1
        arrived[rank] = turn
        while min(arrived) < turn:
            # There may be more ranks than cores.
            os.sched_yield()


class StoreBarrier:
    """The same for ranks of several machines, through torch's store: they leave it within a round trip of the network.

    The last one to come opens the gate; all of them, also the last, learn from the store that it is open.
    """

    def __init__(self, store: Any, count: int) -> None:
        self._store, self._count = store, count
        self._turn = 0

    def wait(self) -> None:
        before, self._turn = self._turn, self._turn + 1
        if self._store.add(_gate(self._turn), 1) == self._count:
            # All have left the one before.
            self._store.delete_key(_gate(before))
            self._store.delete_key(f"{_gate(before)}-open")
            self._store.set(f"{_gate(self._turn)}-open", b"1")
        self._store.wait([f"{_gate(self._turn)}-open"])


def _gate(turn: int) -> str:
    return f"photometer-block-{turn}"


def host_store() -> tuple[int, int]:
    """Fork a process that has a store for ranks of several machines. Return its id and its port."""
    parent = os.getpid()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent(parent)
            torch = needed_torch("a group of ranks")
            store = torch.distributed.TCPStore("0.0.0.0", 0, None, True, STORE_PATIENCE, wait_for_workers=False)
            os.write(writing, f"{store.port}\n".encode())
            while True:
                signal.pause()
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, encoding="ascii") as said:  # noqa: PTH123 - a pipe
        port = said.readline().strip()
    if not port:
        os.waitpid(pid, 0)
        raise RankFailed("no store could be opened in which ranks of several machines meet")
    return pid, int(port)


@dataclasses.dataclass(frozen=True)
class Joining:
    """How a rank joins torch's group: by a file that all have inherited open, or by a store that is `meeting`.

    Of `count` ranks, `local_count` are on its machine.
    """

    rank: int
    count: int
    local_rank: int
    local_count: int
    store: int
    meeting: str
    before_block: str
    barrier: Barrier | None

    def join(self, prepare: Prepare, names: dict[str, Any]) -> Prepare:
        """Make torch's default group, and fill in the names of this rank. Return its Prepare."""
        torch = needed_torch("a group of ranks")
        distributed = torch.distributed
        if not distributed.is_available():
            raise RankFailed("this torch was built without torch.distributed")
        kind = prepare.device or (default_kind(torch) or "" if prepare.synchronize else "")
        if ":" in kind:
            raise RankFailed(f"each rank has a device of its own: name {kind.partition(':')[0]!r}, not {kind!r}")
        host, _, port = self.meeting.rpartition(":")
        os.environ.update(dict.fromkeys(INTERFACES, interface_towards(host) if host else LOOPBACK))
        os.environ.update({"RANK": str(self.rank), "LOCAL_RANK": str(self.local_rank)})
        os.environ.update({"WORLD_SIZE": str(self.count), "LOCAL_WORLD_SIZE": str(self.local_count)})
        device = ""
        backends = "cpu:gloo"
        if kind and kind != "cpu":
            device = f"{kind}:{self.local_rank}"
            self._check_devices(torch, kind)
            open_device(torch, device)
            known = getattr(distributed.Backend, "default_device_backend_map", {})
            backends += f",{kind}:{known.get(kind, 'gloo')}"
        own_cores(self.local_rank, self.local_count, prepare.num_threads)
        if host:
            store = distributed.TCPStore(host, int(port), None, False, STORE_PATIENCE)
            own = StoreBarrier(distributed.TCPStore(host, int(port), None, False, STORE_PATIENCE), self.count)
            wait = own.wait
        else:
            store = distributed.FileStore(f"/proc/self/fd/{self.store}", self.count)
            wait = functools.partial(cast(Barrier, self.barrier).wait, self.rank)
        distributed.init_process_group(backends, store=store, rank=self.rank, world_size=self.count)
        names[self.before_block] = lambda _: wait()
        # What this process may see was decided before it was forked.
        own_device = device if prepare.device else ""
        return dataclasses.replace(prepare, ranks=0, device=own_device, visible_devices=(), guests=(), guests_key="")

    def _check_devices(self, torch: Any, kind: str) -> None:
        devices = getattr(find_backend(kind, torch).module(torch), "device_count", lambda: 1)()
        if devices < self.local_count:
            where = " on each machine" if self.meeting else ""
            raise NoDevice(
                f"{self.local_count} ranks need {self.local_count} {kind} devices{where}; there are {devices}"
            )


def interface_towards(host: str) -> str:
    """Return the network interface over which this machine reaches another, or itself by that address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Nothing is sent.
        probe.connect((host, 9))
        own = probe.getsockname()[0]
        for _, name in socket.if_nameindex():
            asked = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):  # it has no address
                if socket.inet_ntoa(fcntl.ioctl(probe, _ADDRESS_OF_INTERFACE, asked)[20:24]) == own:
                    return name
    # An address of the loopback interface besides its first.
    return LOOPBACK


def users_frames(stack: str) -> str:
    """Return the innermost frames that faulthandler wrote, down to the user's own, as one line."""
    frames = []
    for line in stack.splitlines():
        found = _FRAME.search(line)
        if found is None:
            continue
        frames.append(f"{found['function']} ({found['file']}:{found['line']})")
        if found["file"].startswith("<photometer snippet"):
            frames[-1] = f"line {found['line']} of set-up and statement"
            break
    return ", called by ".join(frames) or "its place is unknown"


def own_cores(rank: int, count: int, num_threads: int) -> None:
    """Keep a rank to cores of its own, if there are enough."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) >= count * num_threads:
        os.sched_setaffinity(0, cores[rank * num_threads : (rank + 1) * num_threads])


def live_as_rank(parent: int, line: int, joining: Joining, make_child: Callable[[dict[str, Any]], Serves]) -> NoReturn:
    """Run the whole life of a rank; never return."""
    status = 1
    try:
        die_with_parent(parent)
        names: dict[str, Any] = {RANK: joining.rank, WORLD_SIZE: joining.count}
        child: Serves | None = None
        while True:
            request, number = decode_request(receive_message(line))
            try:
                if child is None:
                    if isinstance(request, Prepare):
                        request = joining.join(request, names)
                    # It takes what runs before each block.
                    child = make_child(names)
                reply = child.reply_to(request)
            except BaseException as error:
                reply = Failed(**describe_exception(error))
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(BaseException):  # the user's code may have closed it
                    stream.flush()
            send_message(line, encode_reply(reply, number))
    except (Disconnected, OSError):
        # The group has ended, or its machine is gone.
        status = 0
    finally:
        os._exit(status)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, even during a collective."""
    import ctypes

    parent_death_signal = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
    ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL, 0, 0, 0)
    # It may have gone before we asked.
    if os.getppid() != parent:
        os._exit(1)
