"""Session: the servers of one environment. The only code that starts, pools, pins, limits and configures them.

    with Session(environment) as session, session.child() as child:
        child.ask(Prepare("y = x + 1", "x = torch.ones(4)"))
        child.ask(Time(1000)).seconds

Servers start when first needed and are used by one thread at a time; one that has died is not used again.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from photometer.model.environment import Environment
from photometer.session.child_process import ChildProcess
from photometer.session.compile_caches import CompileCaches
from photometer.session.cores import allowed_cores, on_cores, pin
from photometer.session.fork_server import ForkServer, Launch
from photometer.session.layout import Layout
from photometer.session.policy import Policy, limit_memory, memory_limit_bytes
from photometer.session.valgrind import find_valgrind
from photometer.worker.messages import DescribeTorch, Started, TorchFacts


@dataclasses.dataclass(frozen=True)
class Counting:
    """A server under Callgrind: what is simulated and seen besides instructions."""

    cache_simulation: bool = False
    branch_simulation: bool = False
    callgrind_options: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class ServerKind:
    """What distinguishes servers that cannot replace each other.

    `lane` numbers servers that are otherwise alike: a pair of processes has its own bias, so replicates change lanes.
    `width` is the number of cores if a statement has several threads: libgomp and MKL ask for it only once.
    """

    layout: Layout = Layout()  # noqa: RUF009 - frozen, so sharing it is safe
    lane: int = 0
    width: int = 1
    counting: Counting | None = None
    # Imported before any child is forked.
    preload: tuple[str, ...] = ()
    # Nothing is measured beside its children, so that their threads may wait for work by spinning.
    spins: bool = False


COMPILING = ServerKind(preload=("torch._dynamo", "torch._inductor.compile_fx"))
"""A server for statements that torch.compile compiles: the compiler's own import takes several seconds."""
COMPILING_FOR_DEVICES = ServerKind(preload=("torch._dynamo", "torch._functorch.aot_autograd"))
"""The same for an accelerator, with five of the seven seconds: the import of Inductor itself asks CUDA for its devices,
and a process that was forked after that cannot use them."""


def compiling(device: str) -> ServerKind:
    """Return the kind of server for compiled statements on a device."""
    return COMPILING if device.split(":")[0] in ("", "cpu") else COMPILING_FOR_DEVICES


class Server(Protocol):
    """What a session provides: a ForkServer, or a fake in tests."""

    pid: int
    folder: Path
    greeting: Started | None
    frozen: bool
    not_frozen_because: str | None
    strays: int
    """How many processes the last child left running; they were ended."""

    @property
    def alive(self) -> bool: ...

    def wait_until_ready(self) -> None: ...

    def child(self) -> contextlib.AbstractContextManager[ChildProcess]: ...

    def output(self) -> str: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


class Session:
    """Use as a context manager, or call `close`. `kill` ends everything at once, from any thread."""

    def __init__(
        self,
        environment: Environment | None = None,
        policy: Policy = Policy(),  # noqa: B008 - frozen, so sharing it is safe
        *,
        start: Callable[[Launch], Server] = ForkServer,
    ) -> None:
        self.environment = environment or Environment.current()
        self.policy = policy
        self._start = start
        self._limit_bytes = memory_limit_bytes() if policy.limits_memory else None
        self._lock = threading.Lock()
        self._idle: dict[ServerKind, list[Server]] = {}
        self._all: set[Server] = set()
        self._killed = False
        self._facts: TorchFacts | None = None
        self.compile_caches = CompileCaches()

    @contextlib.contextmanager
    def server(self, kind: ServerKind = ServerKind(), cores: Sequence[int] = ()) -> Iterator[Server]:  # noqa: B008
        """Yield a server. Its forks run on `cores`; without any, the system chooses."""
        kind = _of_width(kind, cores)
        server = self._take(kind) or self._begin(kind, cores)
        try:
            self._make_ready(server)
            pin(server.pid, cores or allowed_cores())
            yield server
        finally:
            self._give_back(kind, server)

    @contextlib.contextmanager
    def child(self, kind: ServerKind = ServerKind(), cores: Sequence[int] = ()) -> Iterator[ChildProcess]:  # noqa: B008
        """Yield a fresh fork of a server; it is ended when the block ends."""
        with self.server(kind, cores) as server, server.child() as child:
            yield child

    def facts(self) -> TorchFacts:
        """Return the facts of this interpreter and torch, asked once, in a child."""
        if self._facts is None:
            with self.child() as child:
                self._facts = child.ask(DescribeTorch())
        return self._facts

    def start_ahead(self, kinds: Iterable[ServerKind], cores: Sequence[int] = ()) -> None:
        """Start missing servers of these kinds, all at once, without waiting for them.

        For a kind that is listed twice, two are started.
        """
        for kind, wanted in collections.Counter(_of_width(kind, cores) for kind in kinds).items():
            with self._lock:
                there = len(self._idle.get(kind, ()))
            for _ in range(wanted - there):
                self._give_back(kind, self._begin(kind, cores))

    def drop(self, kind: ServerKind) -> None:
        """End the idle servers of a kind that is no longer needed."""
        with self._lock:
            servers = [server for held, idle in self._idle.items() if _same(held, kind) for server in idle]
            for held in [held for held in self._idle if _same(held, kind)]:
                del self._idle[held]
            self._all.difference_update(servers)
        for server in servers:
            server.close()

    def kill(self) -> None:
        """Kill every server, including those that are starting. Their users get WorkerCrashed."""
        with self._lock:
            self._killed = True
            for server in self._all:
                server.kill()

    def close(self) -> None:
        with self._lock:
            idle = [server for servers in self._idle.values() for server in servers]
            self._idle.clear()
            self._all.difference_update(idle)
        for server in idle:
            server.close()
        self.compile_caches.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and not issubclass(kind, Exception):
            # Ctrl-C: do not wait for servers that are starting, or measuring in another thread.
            self.kill()
        self.close()

    def _take(self, kind: ServerKind) -> Server | None:
        dead: list[Server] = []
        try:
            with self._lock:
                servers = self._idle.get(kind, [])
                while servers:
                    server = servers.pop()
                    if server.alive:
                        return server
                    self._all.discard(server)
                    dead.append(server)
        finally:
            for server in dead:
                server.close()
        return None

    def _begin(self, kind: ServerKind, cores: Sequence[int]) -> Server:
        launch = self.launch(kind)
        with on_cores(cores):
            server = self._start(launch)
        with self._lock:
            self._all.add(server)
            if self._killed:
                server.kill()
        return server

    def _make_ready(self, server: Server) -> None:
        if server.greeting is None:
            server.wait_until_ready()
            limit_memory(server.pid, self._limit_bytes)

    def _give_back(self, kind: ServerKind, server: Server) -> None:
        with self._lock:
            fit = server.alive and not self._killed
            if fit:
                self._idle.setdefault(kind, []).append(server)
            else:
                self._all.discard(server)
        if not fit:
            server.close()

    def launch(self, kind: ServerKind) -> Launch:
        """Return how to start a server of this kind, by the policy."""
        counting = kind.counting
        return Launch(
            python=self.environment.python,
            variables=self.policy.variables(
                self.environment, kind.layout, under_valgrind=counting is not None, spins=kind.spins
            ),
            search_path=self.policy.search_path(self.environment),
            wrapper=() if counting is None else _callgrind(counting),
            translate=counting is not None,
            small_pages=self.policy.small_pages,
            preload=kind.preload,
            fresh=not self.policy.forks,
        )


def _callgrind(counting: Counting) -> tuple[str, ...]:
    command = find_valgrind().callgrind_command(
        [],
        out_file="{folder}/callgrind.%p",
        log_file="{folder}/log.%p",
        cache_simulation=counting.cache_simulation,
        branch_simulation=counting.branch_simulation,
        more=counting.callgrind_options,
    )
    return tuple(command)


def _of_width(kind: ServerKind, cores: Sequence[int]) -> ServerKind:
    return dataclasses.replace(kind, width=max(len(cores), 1))


def _same(held: ServerKind, kind: ServerKind) -> bool:
    """Return whether they differ in nothing but the number of cores they were started on."""
    return dataclasses.replace(held, width=kind.width) == kind
