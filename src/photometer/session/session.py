"""Session: the servers of one environment. The only code that starts, pools, pins, limits and configures them.

    with Session(environment) as session, session.child() as child:
        child.ask(Prepare("y = x + 1", "x = torch.ones(4)"))
        child.ask(Time(1000)).seconds

Servers start when first needed and are used by one thread at a time; one that has died is not used again. CompileCaches
gives each benchmark a private folder for torch.compile's caches while the session lasts.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from photometer.errors import WorkerError
from photometer.model.machine import Environment
from photometer.session.child_process import ChildProcess
from photometer.session.cores import allowed_cores, on_cores, pin
from photometer.session.fork_server import START_SECONDS, ForkServer, ImportNotShared, PathShadows
from photometer.session.layout import Layout
from photometer.session.left_behind import make_folder
from photometer.session.policy import Policy, limit_memory, memory_limit_bytes
from photometer.session.remarks import remark
from photometer.session.valgrind import LOG, find_valgrind
from photometer.session.zygote import Launch
from photometer.session.zygotes import Zygotes
from photometer.worker.messages import DescribeTorch, Prepare, Started, TorchFacts
from photometer.worker.preload import COMPILER, COMPILER_FOR_DEVICES, imports_of, modules_of

# Left by the function that fills the first cache; must not be in a benchmark's cache.
_NOT_COPIED = ("fxgraph", "aotautograd")

Fill = Callable[[Path], object]


class CompileCaches:
    """Folders for torch.compile's caches. `of` may be called from any thread; `close` removes all folders."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._filling = threading.Lock()
        self._root: Path | None = None

    def of(self, key: str, device: str, fill: Fill) -> Path:
        """Return the folder of a benchmark: its own from before, or a copy of the first cache, filled by `fill`."""
        root = self._made()
        folder = root / key
        with self._filling:
            first = root / f"first-{device.split(':')[0] or 'cpu'}"
            if not first.exists():
                first.mkdir()
                try:
                    fill(first)
                except BaseException:
                    shutil.rmtree(first, ignore_errors=True)
                    raise
        if not folder.exists():
            shutil.copytree(first, folder, ignore=shutil.ignore_patterns(*_NOT_COPIED))
        return folder

    def forget(self, key: str) -> None:
        """Remove the compiled code of a benchmark, so that it starts afresh."""
        if self._root is not None:
            shutil.rmtree(self._root / key, ignore_errors=True)

    def close(self) -> None:
        with self._lock:
            root, self._root = self._root, None
        if root is not None:
            shutil.rmtree(root, ignore_errors=True)

    def _made(self) -> Path:
        with self._lock:
            if self._root is None:
                self._root = make_folder("compile")
            return self._root


# A kept zygote that is ready needs 10 ms for a fork, 0.3 s under Valgrind, and ten times that on a busy machine.
WARM_SECONDS = 20.0
# Importing Inductor and compiling with it under Valgrind took four minutes on two busy cores.
COMPILER_SECONDS = 1200.0
# A suite in which every benchmark has imports of its own would otherwise have as many servers, of 10 MB to 200 MB each.
MOST_IDLE = 16


@dataclasses.dataclass(frozen=True)
class Counting:
    """A server under Callgrind: what it simulates and observes besides instructions."""

    cache_simulation: bool = False
    branch_simulation: bool = False
    callgrind_options: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class ServerKind:
    """The properties by which servers differ that cannot replace each other.

    `lane` numbers servers that are otherwise alike: a pair of processes has its own bias, so replicates change lanes.
    `width` is the number of cores if a statement has several threads: libgomp and MKL read it only once.
    """

    layout: Layout = Layout()  # noqa: RUF009 - frozen, so sharing it is safe
    lane: int = 0
    width: int = 1
    counting: Counting | None = None
    # Import statements, in their order, that are run once, before any child is forked.
    imports: tuple[str, ...] = ()
    # Under Callgrind: whether its children load TorchScript models.
    scripts: bool = False
    # Under Callgrind: whether its children count compilations, so that it compiles something before it forks.
    compiles: bool = False
    # Nothing is measured beside its children, so that their threads may wait for work by spinning.
    spins: bool = False

    def importing(self, prepare: Prepare) -> ServerKind:
        """Return this kind of server, with the imports of a benchmark; compiled C++ imports nothing."""
        if prepare.library:
            return self
        found = imports_of(prepare.setup, prepare.stmt, prepare.preload)
        scripts = self.counting is not None and "torch.jit" in f"{prepare.setup}\n{prepare.stmt}"
        return dataclasses.replace(self, imports=tuple(dict.fromkeys((*self.imports, *found))), scripts=scripts)

    def with_imports_of(self, kind: ServerKind) -> ServerKind:
        """Return this kind of server, with the imports of another."""
        return dataclasses.replace(self, imports=kind.imports)


COMPILING = ServerKind(imports=COMPILER)
"""A server for statements that torch.compile compiles: the compiler's own import takes several seconds."""


def compiling(device: str) -> ServerKind:
    """Return the kind of server for compiled statements on a device."""
    on_cpu = device.split(":")[0] in ("", "cpu")
    return COMPILING if on_cpu else ServerKind(imports=COMPILER_FOR_DEVICES)


class Server(Protocol):
    """What a session provides: a ForkServer, or a fake in tests."""

    folder: Path
    dumps: Path
    """Where Callgrind writes its files."""
    greeting: Started | None
    frozen: bool
    not_frozen_because: str | None
    strays: int
    """How many processes the last child left running; they were ended."""

    @property
    def pid(self) -> int: ...

    @property
    def alive(self) -> bool: ...

    def wait_until_ready(self, start_seconds: float = START_SECONDS) -> None: ...

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
        start: Callable[[Launch], Server] | None = None,
    ) -> None:
        self.environment = environment or Environment.current()
        self.policy = policy
        self.zygotes = Zygotes()
        self._start: Callable[[Launch], Server] = start or self.zygotes.start
        # What instruments know of these servers and need not find out again, by what they call it.
        self.remembered: dict[object, object] = {}
        # Imports that forks must do by themselves, with the reason.
        self.not_shared: dict[str, str] = {}
        # Whether the environment's path must be there when torch is imported.
        self._path_first = False
        self._limit_bytes = memory_limit_bytes() if policy.limits_memory else None
        self._lock = threading.Lock()
        self._idle: dict[ServerKind, list[Server]] = {}
        self._all: set[Server] = set()
        self._killed = False
        self._facts: TorchFacts | None = None
        self.compile_caches = CompileCaches()

    @contextlib.contextmanager
    def server(self, kind: ServerKind = ServerKind(), cores: Sequence[int] = ()) -> Iterator[Server]:
        """Yield a server. Its forks run on `cores`; without any, the system chooses."""
        kind, server = self._ready_server(_of_width(kind, cores), cores)
        try:
            pin(server.pid, cores or allowed_cores())
            yield server
        finally:
            self._give_back(kind, server)

    def _ready_server(self, kind: ServerKind, cores: Sequence[int]) -> tuple[ServerKind, Server]:
        """Return a server that is ready, and its kind: one with fewer imports if not all can be shared."""
        replaced = False
        while True:
            kind = self._with_shared_imports(kind)
            server = self._take(kind) or self._begin(kind, cores)
            try:
                self._make_ready(server, COMPILER_SECONDS if kind.compiles else START_SECONDS)
                return kind, server
            except ImportNotShared as refused:
                self._give_back(kind, server)
                self.zygotes.drop(self.launch(kind))
                self.not_shared[refused.statement] = refused.reason
                remark(f"`{refused.statement}` is run in every measured process, not only once: {refused.reason}")
            except PathShadows:
                self._give_back(kind, server)
                self._path_first = True
            except WorkerError:
                self._give_back(kind, server)
                # A kept zygote may be stuck, or have ended in this moment.
                if replaced or not self.zygotes.replace(server):
                    raise
                replaced = True
            except BaseException:
                # Ctrl-C: nobody waits for its imports any more.
                self._give_back(kind, server)
                self.zygotes.replace(server)
                raise

    def _with_shared_imports(self, kind: ServerKind) -> ServerKind:
        """Return the kind with the imports before the first that cannot be shared: their order must stay."""
        imports = modules_of(kind.imports, self._folders()) if self.policy.preloads else ()
        shared = itertools.takewhile(lambda statement: statement not in self.not_shared, imports)
        return dataclasses.replace(kind, imports=tuple(shared))

    @contextlib.contextmanager
    def child(self, kind: ServerKind = ServerKind(), cores: Sequence[int] = ()) -> Iterator[ChildProcess]:
        """Yield a fresh fork of a server; it is ended when the block ends."""
        with self.server(kind, cores) as server, server.child() as child:
            yield child

    def facts(self) -> TorchFacts:
        """Return the facts of this interpreter and torch, which a child reports once."""
        if self._facts is None:
            # In a server that is needed anyway, if there is one.
            with self._lock:
                started = [kind for kind in self._idle if kind.counting is None and kind.width == 1]
            with self.child(next(iter(started), ServerKind())) as child:
                self._facts = child.ask(DescribeTorch())
        return self._facts

    def _folders(self) -> tuple[str, ...]:
        """Return the folders of this environment's modules, as far as they are known without starting it."""
        own = self.policy.search_path(self.environment) + self.policy.importable(self.environment)
        if self.environment.python == sys.executable:
            return (*own, *sys.path)
        packages = Path(self.environment.python).parent.parent.glob("lib/python*/site-packages")
        return (*own, *map(str, packages))

    def start_ahead(self, kinds: Iterable[ServerKind], cores: Sequence[int] = ()) -> None:
        """Start missing servers of these kinds, all at once, without waiting for them.

        For a kind that is listed twice, two are started.
        """
        wanted_kinds = [self._with_shared_imports(_of_width(kind, cores)) for kind in kinds]
        for kind, wanted in collections.Counter(wanted_kinds).items():
            with self._lock:
                there = len(self._idle.get(kind, ()))
            for _ in range(wanted - there):
                self._give_back(kind, self._begin(kind, cores))

    def is_warm(self, kind: ServerKind) -> bool:
        """Return whether a waiting server of this kind is a fork of a zygote of an earlier command."""
        with self._lock:
            idle = self._idle.get(self._with_shared_imports(_of_width(kind, ())), [])
        return any(isinstance(server, ForkServer) and server.is_of_ready_zygote for server in idle)

    def drop(self, kind: ServerKind) -> None:
        """End the idle servers of a kind that is no longer needed, whatever they have imported."""
        self._end_idle([held for held in self._idle if _same(held, kind)])

    def forget_imports(self) -> None:
        """End all servers that have imported more than torch: the files behind their imports have changed."""
        self._end_idle([held for held in self._idle if held.imports])
        self.zygotes.drop_imports()
        self.not_shared.clear()

    def _end_idle(self, kinds: Sequence[ServerKind]) -> None:
        with self._lock:
            servers = [server for kind in kinds for server in self._idle.pop(kind, ())]
            self._all.difference_update(servers)
        for server in servers:
            server.close()

    def kill(self) -> None:
        """Kill every server, including those that are starting. Their users get WorkerCrashed."""
        with self._lock:
            self._killed = True
            for server in self._all:
                server.kill()
        self.zygotes.kill()

    def close(self) -> None:
        with self._lock:
            idle = [server for servers in self._idle.values() for server in servers]
            self._idle.clear()
            self._all.difference_update(idle)
        for server in idle:
            server.close()
        self.zygotes.close()
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

    def _make_ready(self, server: Server, start_seconds: float) -> None:
        if server.greeting is None:
            if isinstance(server, ForkServer) and server.is_of_ready_zygote:
                server.wait_until_ready(WARM_SECONDS)
            else:
                server.wait_until_ready(start_seconds)
            limit_memory(server.pid, self._limit_bytes)

    def _give_back(self, kind: ServerKind, server: Server) -> None:
        with self._lock:
            ended = []
            if server.alive and not self._killed:
                # The kind that was used last is last.
                self._idle[kind] = [*self._idle.pop(kind, ()), server]
                ended = self._surplus()
            else:
                ended = [server]
            self._all.difference_update(ended)
        for each in ended:
            each.close()

    def _surplus(self) -> list[Server]:
        """Remove servers of the least recently used kinds from the pool, if there are many, and return them."""
        surplus = []
        while sum(map(len, self._idle.values())) > MOST_IDLE:
            kind = next(iter(self._idle))
            surplus.append(self._idle[kind].pop(0))
            if not self._idle[kind]:
                del self._idle[kind]
        return surplus

    def launch(self, kind: ServerKind) -> Launch:
        """Return how to start a server of this kind, by the policy."""
        counting = kind.counting
        variables = self.policy.variables(
            self.environment, kind.layout, under_valgrind=counting is not None, spins=kind.spins
        )
        path = self.policy.search_path(self.environment)
        first = self._path_first or any(has_torch(folder) for folder in path)
        return Launch(
            python=self.environment.python,
            variables=tuple(variables.items()),
            search_path=path if first else (),
            wrapper=() if counting is None else _callgrind(counting),
            translate=_translated(kind),
            small_pages=self.policy.small_pages,
            width=kind.width,
            side_path=() if first else path,
            importable=self.policy.importable(self.environment),
            imports=kind.imports,
            # Modules lie elsewhere in every lane, as what set-ups make does in every fork.
            layout_seed=kind.lane if kind.imports and counting is None else 0,
            fresh=not self.policy.forks,
            # Other layouts are drawn again each time.
            may_be_kept=kind.layout == Layout(),
        )


def _translated(kind: ServerKind) -> str:
    """Return what a zygote under Callgrind runs before it forks, in the words of `worker/zygote.py`."""
    if kind.counting is None:
        return ""
    return "with compiler" if kind.compiles else "with scripts" if kind.scripts else "plain"


def _callgrind(counting: Counting) -> tuple[str, ...]:
    command = find_valgrind().callgrind_command(
        [],
        out_file="{folder}/callgrind.%p",
        log_file=f"{{folder}}/{LOG}",
        cache_simulation=counting.cache_simulation,
        branch_simulation=counting.branch_simulation,
        more=counting.callgrind_options,
    )
    return tuple(command)


def _of_width(kind: ServerKind, cores: Sequence[int]) -> ServerKind:
    return dataclasses.replace(kind, width=max(len(cores), 1))


def _same(held: ServerKind, kind: ServerKind) -> bool:
    """Return whether they differ only in the number of cores they were started on, and in their imports."""
    return dataclasses.replace(held, width=kind.width, imports=kind.imports, scripts=kind.scripts) == kind


def has_torch(folder: str) -> bool:
    """Return whether torch would be imported from this folder."""
    return Path(folder, "torch").is_dir() or Path(folder, "torch.py").exists()
