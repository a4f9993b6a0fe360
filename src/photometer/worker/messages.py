"""Every message that crosses the process line: one dataclass per request, one per reply. Nothing else builds them.

A request goes to a child and says which reply belongs to it (`reply`), so that `ChildProcess.ask` is typed. On the line
a request is {"verb": …, "id": …, field: …}; a reply is {"ok": true, "id": …, field: …}, or {"ok": false, …} with the
fields of Failed. The id says which request a reply is for, so that one left over from before is not mistaken for it.
Standard library only. Raise PROTOCOL_VERSION with every change of a message.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import types
import typing
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, ClassVar, Generic, TypeVar, Union

# The near side refuses a worker that speaks another version.
PROTOCOL_VERSION = 10

# In place of a device's name: the one that the statement opens, if any.
ANY_DEVICE = "any"
# What is known of the memory of one run, in this order: see MeasuredMemory.
MEMORY_FIGURES = 4


class BadMessage(Exception):
    """A message that lacks a field, or has a field of another type."""


class Reply:
    """A message from a child or a server."""


_Reply = TypeVar("_Reply", bound=Reply)


@dataclasses.dataclass(frozen=True)
class Started(Reply):
    """The first message of a server: which environment it runs in. Its pid is written as in `Hello`."""

    version: int
    pid: str
    python: str
    executable: str
    torch: str


@dataclasses.dataclass(frozen=True)
class Hello(Reply):
    """The first message of a child. The pid has a fixed number of digits: another length is another memory layout."""

    pid: str


@dataclasses.dataclass(frozen=True)
class Failed(Reply):
    """The user's code raised, or torch could not be imported: the exception in words."""

    type: str
    message: str
    traceback: str
    version: int = PROTOCOL_VERSION


@dataclasses.dataclass(frozen=True)
class Prepared(Reply):
    """`first_seconds` is the first run's time, 0 without warm-up; `compile_seconds` what torch.compile took."""

    first_seconds: float
    compile_seconds: float | None = None


@dataclasses.dataclass(frozen=True)
class Timed(Reply):
    """Seconds of a block; of several ranks, those of the slowest, and those of each.

    Of a block whose pages are watched: how many it was the first to touch, and by how many the process is larger.
    """

    seconds: float
    rank_seconds: list[float] = dataclasses.field(default_factory=list)
    touched_pages: int = 0
    kept_pages: int = 0

    def __post_init__(self) -> None:
        _check_seconds([self.seconds, *self.rank_seconds])


@dataclasses.dataclass(frozen=True)
class TimedBlocks(Reply):
    """Seconds of each block, how often each was preempted, and the time that all of them took.

    Of several ranks, a block's seconds are those of the slowest, and each rank's own are there, too.
    """

    block_seconds: list[float]
    block_preemptions: list[int]
    wall_seconds: float
    cpu_seconds: float
    rank_block_seconds: list[list[float]] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        _check_seconds(self.block_seconds)
        for seconds in self.rank_block_seconds:
            _check_seconds(seconds)
            if len(seconds) != len(self.block_seconds):
                raise BadMessage("every rank needs the time of each block")
        if len(self.block_preemptions) != len(self.block_seconds):
            raise BadMessage("every block needs its number of preemptions")


@dataclasses.dataclass(frozen=True)
class Counted(Reply):
    """The number of dumps that Callgrind has written, and the names of Python's frames if requested."""

    dumps: int
    frame_map: str = ""


@dataclasses.dataclass(frozen=True)
class Spun(Reply):
    runs: int


@dataclasses.dataclass(frozen=True)
class TorchFacts(Reply):
    """Which interpreter and torch an environment has, and how that torch was built."""

    python: str
    executable: str
    torch: str
    torch_folder: str
    git_version: str | None
    debug: bool
    cuda: str | None
    build: str
    parallel: str
    cxx11_abi: bool
    num_threads: int
    devices: list[str]
    # The maker's names by device, if there are several of a kind.
    device_models: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Surroundings(Reply):
    """The surroundings of a statement after it ran: modules from a checkout, torch's threads, denormals."""

    modules: list[str]
    num_threads: int
    flushes_denormals: bool


@dataclasses.dataclass(frozen=True)
class MeasuredMemory(Reply):
    """Per run: peak above its start, bytes taken, blocks taken, bytes held more at its end; and on which device."""

    repeats: list[list[int]]
    device_repeats: list[list[int]] = dataclasses.field(default_factory=list)
    device_reserved_bytes: int | None = None
    process_peak_bytes: int | None = None
    device: str = ""

    def __post_init__(self) -> None:
        for figures in (*self.repeats, *self.device_repeats):
            if len(figures) != MEMORY_FIGURES or min(figures[:-1]) < 0:
                raise BadMessage(f"the figures of a run's memory are {figures!r:.80}")


@dataclasses.dataclass(frozen=True)
class CompileFacts(Reply):
    """The record of what torch.compile made of a statement (compile_report.py)."""

    report: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Nothing(Reply):
    """No reply is sent."""


REQUESTS: dict[str, type[Request[Any]]] = {}
"""By verb; every request with one is entered where its class is made."""


class Request(Generic[_Reply]):
    """A request to a child."""

    verb: ClassVar[str]
    reply: ClassVar[type[Reply]]
    # The worker's file that has it, if children do not know it before they are asked.
    home: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "verb" in cls.__dict__:
            REQUESTS[cls.verb] = cls


class LoopRequest(Request[_Reply]):
    """A request that contains its own code, so that the child need not know it.

    Its file in this folder has the request, its reply and the code, and is loaded when the request comes. A new
    instrument needs no other change on the far side.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.home = cls.__module__.rpartition(".")[2]

    def perform(self, run_block: Callable[[int], float]) -> _Reply:
        """Carry out the request in the child.

        `run_block(n)` runs the statement n times and returns the seconds.
        """
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Prepare(Request[Prepared]):
    """Settings, globals, set-up and warm-up of one statement; comes before everything that runs it.

    A Python statement is `stmt` with its `setup`; a compiled one is `symbol` in the file `library`.
    """

    verb: ClassVar[str] = "prepare"
    reply: ClassVar[type[Reply]] = Prepared
    stmt: str = "pass"
    setup: str = "pass"
    globals_text: str = ""
    library: str = ""
    symbol: str = ""
    num_threads: int = 1
    warmup_runs: int = 0
    # What it imports from, and the folder it runs in, if not the server's.
    path: tuple[str, ...] = ()
    folder: str = ""
    # Modules that are imported before the set-up runs, if they have not been.
    preload: tuple[str, ...] = ()
    # The numbers of the accelerators that it may see, if others are used by others meanwhile; empty for all.
    visible_devices: tuple[int, ...] = ()
    # An accelerator: its name, whether the clock waits for it, whether it times the blocks itself, and as graphs.
    device: str = ""
    synchronize: bool = False
    device_time: bool = False
    by_graph: bool = False
    # The folder for what torch.compile keeps, if not the user's own.
    compile_cache: str = ""
    # Under Callgrind: whether the set-up says what of it is counted (compile_counts.py), and whether Python's frames
    # are to be seen in its call tree.
    counts: bool = False
    counts_compile: bool = False
    python_frames: bool = False
    # Draws where heap, mappings and stack lie (see scatter.py); 0 leaves them as they are.
    layout_seed: int = 0
    # Of the random numbers that the set-up and the statement draw (see seeds.py); None is the fixed one.
    seed: int | None = None
    # How many processes run it together (see ranks.py); 0 is the child alone.
    ranks: int = 0
    # The last of them may be on other machines (see rank_guests.py): where those wait and how many, the address of this
    # machine, and the word by which they are known.
    guests: tuple[tuple[str, int], ...] = ()
    guests_address: str = ""
    guests_key: str = ""


@dataclasses.dataclass(frozen=True)
class Time(Request[Timed]):
    """Run the statement `number` times."""

    verb: ClassVar[str] = "time"
    reply: ClassVar[type[Reply]] = Timed
    number: int
    watches_pages: bool = False


@dataclasses.dataclass(frozen=True)
class TimeBlocks(Request[TimedBlocks]):
    """Run a number of blocks of `number` runs, one after another."""

    verb: ClassVar[str] = "time-blocks"
    reply: ClassVar[type[Reply]] = TimedBlocks
    number: int
    blocks: int


@dataclasses.dataclass(frozen=True)
class Count(Request[Counted]):
    """Run a block of `number` runs under Callgrind, after one of `warmup_runs`; each is dumped separately."""

    verb: ClassVar[str] = "count"
    reply: ClassVar[type[Reply]] = Counted
    number: int
    warmup_runs: int


@dataclasses.dataclass(frozen=True)
class Spin(Request[Spun]):
    """Run the statement for about `seconds` while a sampling profiler observes it."""

    verb: ClassVar[str] = "spin"
    reply: ClassVar[type[Reply]] = Spun
    seconds: float


@dataclasses.dataclass(frozen=True)
class MeasureMemory(Request[MeasuredMemory]):
    """Run the statement `repeats` times and report each run's allocations.

    On an accelerator too, if one is named; ANY_DEVICE is the one in use.
    """

    verb: ClassVar[str] = "measure-memory"
    reply: ClassVar[type[Reply]] = MeasuredMemory
    repeats: int
    device: str = ""


@dataclasses.dataclass(frozen=True)
class ReportCompile(Request[CompileFacts]):
    """Observe a set-up that compiles, then the `later` texts: the same function called with other sizes."""

    verb: ClassVar[str] = "report-compile"
    reply: ClassVar[type[Reply]] = CompileFacts
    stmt: str
    setup: str
    cache: str
    later: tuple[str, ...] = ()
    num_threads: int = 1
    device: str = ""
    visible_devices: tuple[int, ...] = ()
    seed: int | None = None


@dataclasses.dataclass(frozen=True)
class DescribeTorch(Request[TorchFacts]):
    verb: ClassVar[str] = "describe-torch"
    reply: ClassVar[type[Reply]] = TorchFacts


@dataclasses.dataclass(frozen=True)
class LookAround(Request[Surroundings]):
    """After a run: which modules came from the folder `checkout`, and torch's settings."""

    verb: ClassVar[str] = "look-around"
    reply: ClassVar[type[Reply]] = Surroundings
    checkout: str


@dataclasses.dataclass(frozen=True)
class Exit(Request[Nothing]):
    verb: ClassVar[str] = "exit"
    reply: ClassVar[type[Reply]] = Nothing


def encode_request(request: Request[Any], number: int = 0) -> dict[str, Any]:
    home = {"home": request.home} if request.home else {}
    return {"verb": request.verb, "id": number, **home, **plain(request)}


def decode_request(message: dict[str, Any]) -> tuple[Request[Any], int]:
    """Return the request in a message from the near side, which is trusted, and its number."""
    fields = dict(message)
    verb, number, home = fields.pop("verb"), fields.pop("id"), fields.pop("home", "")
    if verb not in REQUESTS:
        _load_sibling(home)
    return REQUESTS[verb](**fields), number


def _load_sibling(name: str) -> None:
    """Load a file of this folder, which is not on the path of the environment that is measured."""
    spec = spec_from_file_location(f"{__package__}.{name}", f"{__file__.rpartition('/')[0]}/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)


def encode_reply(reply: Reply, number: int = 0) -> dict[str, Any]:
    return {"ok": not isinstance(reply, Failed), "id": number, **plain(reply)}


def decode_reply(kind: type[_Reply], message: dict[str, Any], number: int = 0) -> _Reply | Failed:
    """Return the reply in an untrusted message; raise BadMessage if it is not the expected one."""
    if message.get("id") != number:
        raise BadMessage(f"a reply to request {message.get('id')!r:.40} came instead of one to request {number}")
    wanted: Any = kind if message.get("ok") is True else Failed
    values = {}
    for name, (hint, required) in _fields_of(wanted).items():
        if name not in message:
            if required:
                raise BadMessage(f"{name!r} is missing from what should be {wanted.__name__}")
            continue
        if not _fits(message[name], hint):
            raise BadMessage(f"{name!r} of {wanted.__name__} is {message[name]!r:.80}")
        values[name] = message[name]
    return typing.cast("_Reply | Failed", wanted(**values))


def plain(value: Any) -> Any:
    """Return dataclasses as dicts, tuples as lists and enum members as their values, at all depths, for JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _check_seconds(seconds: list[float]) -> None:
    # What compares false to zero (NaN) is no time either.
    if not all(value >= 0 for value in seconds):
        raise BadMessage("a block took less than no time: the clock was changed, or ran backwards")


@functools.cache
def _fields_of(kind: type) -> dict[str, tuple[Any, bool]]:
    """Return the type of each field, and whether it has no default."""
    hints = typing.get_type_hints(kind)
    return {f.name: (hints[f.name], f.default is dataclasses.MISSING) for f in dataclasses.fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, parts[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict)
    if hint is float:
        # NaN and infinity are no times.
        return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)
