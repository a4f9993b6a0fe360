"""NodeWorker: runs on a node of a cluster, owns the session with all its servers, and does the work sent to it.

It does not use Ray; `fetch` gets a file's content from wherever the driver put it. In: NodeRequest and work. Out:
NodeFacts once, then one NodeOutcome per piece of work. Commits to measure come as one git pack of their files, without
their history, and are checked out here as from the user's own repository.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import platform
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photometer.errors import CacheError, PhotometerError, ToolMissing, WorkerStartError
from photometer.execution.executor import BuildSnippets, Done, Failure, MeasureOrder, ScriptModel, Work
from photometer.execution.local_executor import LocalExecutor
from photometer.execution.run_file import machine_of
from photometer.execution.workplace import Slot
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.instruments.cpp.compiler import find_compiler
from photometer.instruments.cpp.snippet import CppOptions
from photometer.instruments.cpp.torch_build import build_fingerprint
from photometer.instruments.ready_order import kind_of
from photometer.model.code_folder import VARIABLE, cache_root, make_code_folder
from photometer.model.machine import Environment, Node
from photometer.model.task import TaskSpec
from photometer.model.whole_file import write_whole
from photometer.session.cores import usable_cores
from photometer.session.left_behind import private_folder, remove_own
from photometer.session.policy import simd_variables
from photometer.session.session import Session
from photometer.session.valgrind import find_valgrind
from photometer.worker.messages import TorchFacts
from photometer.worker.rank_guests import HostRanks

if TYPE_CHECKING:
    from photometer.commits.lane import CommitLane
from photometer.git import run_git

# Counted once on every node that counts: arithmetic in a vectorised loop, a copy, and a small operator.
CONTROL = TaskSpec(
    stmt="y = torch.exp(x).sum(); z = x.clone(); small + 1", setup="x = torch.ones(5000); small = torch.ones(4)"
)


@dataclasses.dataclass(frozen=True)
class NodeRequest:
    """How to set up a node: `environment` as on the driver; `folders` maps the driver's folders to those here.

    The driver's own interpreter is replaced by the node's own. `cores` limits how many are used.
    """

    name: str
    environment: Environment
    driver_python: str
    python_path: str = ""
    folders: tuple[tuple[str, str], ...] = ()
    cores: int = 0
    gpus: int = 0
    is_shared: bool = False
    passes_devices: bool = True
    # By which other nodes reach it.
    address: str = ""


@dataclasses.dataclass(frozen=True)
class NodeFacts:
    node: Node
    cores: tuple[int, ...]
    facts: TorchFacts
    torch_build: str
    code: str
    pid: int


@dataclasses.dataclass(frozen=True)
class ShippedCommits:
    """Commits that a node gets in one pack, and the command that installs each, if any."""

    shas: tuple[str, ...]
    install: str | None = None


@dataclasses.dataclass(frozen=True)
class NodeOutcome:
    """`files` were made here and are needed on other nodes; `control` is this node's count of CONTROL."""

    outcome: Done | Failure
    files: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    control: int | None = None


class NodeWorker:
    def __init__(self, request: NodeRequest, fetch: Callable[[Any], bytes]) -> None:
        self._request = request
        self._fetch = fetch
        self._lock = threading.Lock()
        self._control_is_counted = False
        self._open = contextlib.ExitStack()
        cores = usable_cores()
        self._cores = cores[-request.cores :] if request.cores else cores
        self._free_cores: queue.SimpleQueue[int] = queue.SimpleQueue()
        for core in self._cores:
            self._free_cores.put(core)
        self._lane: CommitLane | None = None
        # Children that host ranks of groups that other nodes lead, by the word of the group.
        self._hosting: dict[str, contextlib.ExitStack] = {}
        _set_surroundings(request)
        self.environment = environment_here(request)
        self.session = Session(self.environment)
        self._executor = LocalExecutor(self.session)

    def hello(self) -> NodeFacts:
        """Return the facts of this node. Raise if its environment has no torch."""
        facts = self.session.facts()
        cores = self._cores
        build = build_fingerprint(Path(facts.torch_folder))
        node = Node(
            self._request.name,
            machine_of(facts),
            len(cores),
            self._request.gpus,
            self._request.is_shared,
            facts.executable,
            " ".join(platform.libc_ver()),
            _valgrind(),
            tuple(f"{name}={value}" for name, value in sorted(simd_variables().items())),
            _toolchain(facts),
        )
        return NodeFacts(node, cores, facts, build, own_code_digest(), os.getpid())

    def execute(self, work: Work, files: Mapping[str, Any]) -> NodeOutcome:
        """Do a piece of work, on a free core if it names none.

        `files` were made elsewhere; those that are missing here are fetched first.
        """
        if work.cores:
            return self._execute(work, files)
        core = self._free_cores.get()
        try:
            return self._execute(dataclasses.replace(work, cores=(core,)), files)
        finally:
            self._free_cores.put(core)

    def _execute(self, work: Work, files: Mapping[str, Any]) -> NodeOutcome:
        try:
            for path, content in files.items():
                self._put(Path(path), content)
        except PhotometerError as error:
            return NodeOutcome(Failure.of(error))
        control = self._count_control(work.cores) if isinstance(work, MeasureOrder) and work.step.counts else None
        outcome = self._executor.execute(work)
        return NodeOutcome(outcome, _made(work, outcome), control)

    def host_ranks(self, key: str, work: MeasureOrder, slot: Slot, files: Mapping[str, Any]) -> str | Failure:
        """Have a child wait for ranks of a group that another node leads. Return where it waits."""
        order = work.order
        with contextlib.ExitStack() as opening:
            try:
                for path, content in files.items():
                    self._put(Path(path), content)
                child = opening.enter_context(self.session.child(kind_of(order), slot.cores))
                asked = HostRanks(key, order.auto.device, slot.visible_devices)
                port = child.ask(asked, order.timeout_seconds).port
            except PhotometerError as error:
                return Failure.of(error)
            self._hosting[key] = opening.pop_all()
        return f"{self._request.address}:{port}"

    def end_ranks(self, key: str) -> None:
        """End the child that hosts the ranks of a group, and with it those that are left."""
        if (hosting := self._hosting.pop(key, None)) is not None:
            hosting.close()

    def call(self, function: Callable[..., Any], files: Mapping[str, Any], *arguments: Any) -> Any:
        """Run `function(session, *arguments)` and return its result."""
        for path, content in files.items():
            self._put(Path(path), content)
        return function(self.session, *arguments)

    def enter_commit(self, commits: ShippedCommits, pack: Any, sha: str) -> TorchFacts | Failure:
        """Switch to a commit, whose files are in the pack; return its torch, or why it cannot be measured."""
        from photometer.commits.lane import CommitLane

        try:
            if self._lane is None:
                folder = self._open.enter_context(private_folder("commits")) / "repository"
                repository = unpack_commits(self._fetch(pack), commits.shas, folder)
                lane = CommitLane(repository, install=commits.install, python=self.environment.python)
                self._lane = self._open.enter_context(lane)
            self.session = self._lane.at(sha)
            facts = self.session.facts()
        except PhotometerError as error:
            return Failure.of(error)
        self._executor = LocalExecutor(self.session)
        return facts

    def close(self) -> None:
        """End all servers, remove their files and those of this process, and end it, even while work is under way."""
        self._executor.stop()
        with contextlib.suppress(PhotometerError, OSError):
            self._executor.close()
            self._open.close()
        remove_own()
        # A comparison that is under way would start servers again, in new folders, until Ray ends this process.
        os._exit(0)

    def _put(self, path: Path, content: Any) -> None:
        with self._lock:
            if path.exists():
                return
            try:
                # Code is loaded from there: the folder must belong to this user.
                root = cache_root()
                make_code_folder(path.parent, below=root.parent if path.is_relative_to(root) else path.parents[1])
                write_whole(path, self._fetch(content), overwrite=True)
            except OSError as error:
                raise CacheError(
                    f"{path} cannot be written on {self._request.name}: {error.strerror or error}",
                    remedy=f"Set {VARIABLE} to a folder that can be created on all nodes.",
                ) from error

    def _count_control(self, cores: Sequence[int]) -> int | None:
        """Count CONTROL once per node. If that fails, the order that is counted next reports why."""
        with self._lock:
            if self._control_is_counted:
                return None
            self._control_is_counted = True
        with contextlib.suppress(PhotometerError):
            counted = InstructionCounter(self.session).count(CountTask(CONTROL), cores=cores)
            return counted.instruction_counts().repeats[0].outside_allocator
        return None


def environment_here(request: NodeRequest) -> Environment:
    """Return the environment with the paths of this node."""
    asked = request.environment
    python = sys.executable if asked.python == request.driver_python else asked.python
    if not Path(python).exists():
        raise WorkerStartError(
            f"{request.name} has no interpreter {python}", remedy="Name one that all nodes have, or leave out --python."
        )
    return dataclasses.replace(
        asked,
        python=python,
        path=tuple(_here(folder, request) for folder in asked.path),
        importable=tuple(_here(folder, request) for folder in asked.importable),
    )


def own_code_digest() -> str:
    """Return a digest of photometer's code, which must be the same on driver and nodes."""
    import photometer

    folder = Path(photometer.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _set_surroundings(request: NodeRequest) -> None:
    """Set this process's variables to those that the driver would pass to what it measures."""
    folders = [_here(folder, request) for folder in request.python_path.split(os.pathsep) if folder]
    os.environ.pop("PYTHONPATH", None)
    if folders:
        os.environ["PYTHONPATH"] = os.pathsep.join(folders)
    if not request.gpus or not request.passes_devices:
        # Ray hides accelerators that were not requested by an empty variable, which the driver does not have.
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)


def _here(folder: str, request: NodeRequest) -> str:
    for there, here in request.folders:
        if Path(folder).is_relative_to(there):
            return str(Path(here) / Path(folder).relative_to(there))
    return folder


def _made(work: Work, outcome: Done | Failure) -> dict[str, bytes]:
    """Return the files that a piece of work has made for other nodes."""
    if isinstance(outcome, Failure):
        return {}
    if isinstance(work, ScriptModel):
        return {work.path: Path(work.path).read_bytes()}
    if isinstance(work, BuildSnippets):
        libraries = {str(built.library) for built in outcome.outcomes if not isinstance(built, Failure)}
        return {library: Path(library).read_bytes() for library in sorted(libraries)}
    return {}


def _valgrind() -> str:
    try:
        return find_valgrind().version_string
    except ToolMissing:
        return ""


def _toolchain(facts: TorchFacts) -> str:
    """Return a digest of the inputs of compiled code; without a compiler it is the same on all nodes."""
    try:
        compiler = find_compiler(CppOptions(), make_code_folder(cache_root())).identity
    except PhotometerError:
        compiler = ""
    # Not the dates of torch's libraries: every node has its own copy.
    torch = [facts.torch, facts.git_version or "", str(facts.cxx11_abi), facts.torch_folder]
    parts = [platform.machine(), *platform.libc_ver(), *torch, compiler]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def pack_commits(repository: Path, commits: Sequence[str]) -> bytes:
    """Return a pack of the commits with all their files; files in common are in it once."""
    wanted = "".join(f"{commit}\n" for commit in commits).encode()
    listed = _git(repository, "rev-list", "--objects", "--no-walk=unsorted", "--stdin", given=wanted)
    # A line is the name of an object, followed by its path.
    names = b"".join(line.split(b" ", 1)[0] + b"\n" for line in listed.splitlines())
    return _git(repository, "pack-objects", "--stdout", "-q", given=names)


def unpack_commits(pack: bytes, commits: Sequence[str], folder: Path) -> Path:
    """Create a repository from a pack in a new folder, and return it."""
    folder.mkdir(mode=0o700, parents=True)
    _git(folder, "init", "--quiet")
    _git(folder, "index-pack", "--stdin", given=pack)
    # Their parents are missing: mark the repository as shallow.
    (folder / ".git" / "shallow").write_text("".join(f"{commit}\n" for commit in commits), encoding="ascii")
    return folder


def _git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    remedy = "Check that the repository has all of their files (`git fsck`)."
    return run_git(folder, *arguments, given=given, failed="the commits could not be sent to a node", remedy=remedy)
