"""A session whose servers start no process: children reply at once, by a table of statements.

`Behaviour` says what a statement does: seconds per run, instructions per run, or an exception. Everything above the
session (replicates, preflight, counts, verdicts) then runs as it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from photometer.errors import SnippetError, WorkerCrashed
from photometer.model.device_measurement import DeviceMeasurement, DeviceMode, ModeName, Source
from photometer.model.machine import Environment
from photometer.model.records import to_record
from photometer.model.task import TaskSpec
from photometer.session.child_process import ChildProcess
from photometer.session.session import Session
from photometer.session.zygote import Launch
from photometer.worker.figure_messages import DeviceModes, MeasureDevice, Observe, Observed
from photometer.worker.messages import (
    PROTOCOL_VERSION,
    CompileFacts,
    Count,
    Counted,
    DescribeTorch,
    LookAround,
    MeasuredMemory,
    MeasureMemory,
    Prepare,
    Prepared,
    ReportCompile,
    Request,
    Spin,
    Spun,
    Started,
    Surroundings,
    Time,
    TimeBlocks,
    Timed,
    TimedBlocks,
    TorchFacts,
)

FACTS = TorchFacts(
    python="3.11.0",
    executable="/nowhere/python",
    torch="9.9",
    torch_folder="/nowhere/torch",
    git_version="abc",
    debug=False,
    cuda=None,
    build="",
    parallel="",
    cxx11_abi=True,
    num_threads=1,
    devices=["cpu"],
)

DUMP = """# callgrind format
version: 1
creator: callgrind-3.19.0
pid: {pid}
cmd: fake
part: 1

events: Ir

ob=(1) /fake/lib.so
fl=(1) fake.c
fn=(1) work
1 {instructions}

summary: {instructions}
totals: {instructions}
"""


@dataclasses.dataclass(frozen=True)
class Behaviour:
    """What a statement does in one environment. `dies` ends the server with the child."""

    seconds_per_run: float = 1e-6
    instructions_per_run: int = 1000
    allocated_bytes: int = 4096
    graph_breaks: int = 0
    raises: str = ""
    dies: bool = False
    graphs: bool = True
    metric: float = 1.0


Behaviours = Mapping[str, Behaviour]
_pids = itertools.count(100_000)


class FakeChild:
    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self.pid = next(_pids)
        self.asked: list[Request[Any]] = []
        self._behaviour = Behaviour()
        self._dumps = 0
        self._blocks = 0

    def ask(self, request: Request[Any], timeout_seconds: float = 60.0) -> Any:
        self.asked.append(request)
        self._server.log.append(request)
        return self._replies()[type(request)](request)

    def kill(self) -> None:
        pass

    def _replies(self) -> dict[type, Callable[[Any], Any]]:
        return {
            Prepare: self._prepare,
            Time: lambda request: Timed(self._seconds(request.number)),
            TimeBlocks: self._time_blocks,
            Count: self._count,
            Spin: lambda request: Spun(1),
            DescribeTorch: lambda request: FACTS,
            LookAround: lambda request: Surroundings([], 1, False),
            Observe: lambda request: Observed([[self._behaviour.metric] * request.runs for _ in request.names]),
            MeasureMemory: self._measure_memory,
            MeasureDevice: self._measure_device,
            ReportCompile: self._report_compile,
        }

    def _prepare(self, request: Prepare) -> Prepared:
        self._behaviour = self._server.behaviours.get(request.stmt, Behaviour())
        self._run()
        if request.by_graph and not self._behaviour.graphs:
            raise SnippetError("operation not permitted when stream is capturing", exception_type="RuntimeError")
        return Prepared(0.0)

    def _run(self) -> None:
        if self._behaviour.dies:
            self._server.alive = False
            raise WorkerCrashed("the environment's server has ended")
        if self._behaviour.raises:
            raise SnippetError(self._behaviour.raises, exception_type="E")

    def _seconds(self, number: int) -> float:
        self._run()
        self._blocks += 1
        # Noise of a real kind: some blocks take longer, none is faster than the statement.
        return number * self._behaviour.seconds_per_run * (1.0 + 1e-4 * (self._blocks % 7)) + 1e-8

    def _time_blocks(self, request: TimeBlocks) -> TimedBlocks:
        seconds = [self._seconds(request.number) for _ in range(request.blocks)]
        return TimedBlocks(seconds, [0] * len(seconds), sum(seconds), sum(seconds))

    def _measure_memory(self, request: MeasureMemory) -> MeasuredMemory:
        self._run()
        size = self._behaviour.allocated_bytes
        return MeasuredMemory([[size, size, 1, 0]] * request.repeats, process_peak_bytes=8192)

    def _measure_device(self, request: MeasureDevice) -> DeviceModes:
        hot = DeviceMode(ModeName.DEVICE_HOT, (3.9e-6,) * 5, runs_per_block=10, source=Source.EVENTS)
        spec = TaskSpec(request.stmt, request.setup)
        return DeviceModes(to_record(DeviceMeasurement(spec, "Fake", "cuda", (hot,), "launch-bound")))

    def _report_compile(self, request: ReportCompile) -> CompileFacts:
        self._behaviour = self._server.behaviours.get(request.stmt, Behaviour())
        self._run()
        known = (Path(request.cache) / "fxgraph").exists()
        (Path(request.cache) / "fxgraph").mkdir(exist_ok=True)
        breaks = [{"reason": "item()", "file": "model.py", "line": 3}] * self._behaviour.graph_breaks
        again = [{"function": "f", "reason": "size"}] * len(request.later)
        return CompileFacts(
            {
                "compile_seconds": 1.0 if known else 9.0,
                "graphs": 1 + len(breaks),
                "breaks": breaks,
                "recompilations": again,
                "guards": 7,
                "guard_seconds": 1e-6,
                "cache_hits": int(known),
                "cache_misses": int(not known),
                "swept": bool(request.later),
            }
        )

    def _count(self, request: Count) -> Counted:
        for runs in (0, request.number):
            self._dumps += 1
            text = DUMP.format(pid=self.pid, instructions=10 + runs * self._behaviour.instructions_per_run)
            (self._server.folder / f"callgrind.{self.pid}.{self._dumps}").write_text(text)
        return Counted(2)


class FakeServer:
    """Stands for a ForkServer. `made` are all of a test, in the order they were started."""

    frozen = True
    not_frozen_because: str | None = None

    def __init__(self, launch: Launch, behaviours: Behaviours | None = None, fails: Exception | None = None) -> None:
        self.launch = launch
        self.behaviours = behaviours or {}
        self.pid = next(_pids)
        self.folder = self.dumps = Path(tempfile.mkdtemp(prefix="photometer-fake-"))
        self.greeting: Started | None = None
        self.alive = True
        self.closed = False
        self.log: list[Request[Any]] = []
        self.forks = 0
        self.strays = 0
        self._fails = fails

    def wait_until_ready(self, start_seconds: float = 0.0) -> None:
        if self._fails is not None:
            self.alive = False
            raise self._fails
        self.greeting = Started(PROTOCOL_VERSION, f"{self.pid:010d}", "3.11.0", self.launch.python, "9.9")

    @contextlib.contextmanager
    def child(self) -> Iterator[ChildProcess]:
        assert self.alive
        assert not self.closed
        self.forks += 1
        yield FakeChild(self)  # type: ignore[misc]

    def output(self) -> str:
        return ""

    def kill(self) -> None:
        self.alive = False

    def close(self) -> None:
        import shutil

        self.alive, self.closed = False, True
        shutil.rmtree(self.folder, ignore_errors=True)


class FakeServers:
    """Makes sessions, and remembers the servers they started."""

    def __init__(self, behaviours: Mapping[str, Behaviours] | None = None) -> None:
        # By the interpreter of the environment.
        self._behaviours = behaviours or {}
        self.made: list[FakeServer] = []
        self.fails: dict[str, Exception] = {}

    def start(self, launch: Launch) -> FakeServer:
        server = FakeServer(launch, self._behaviours.get(launch.python), self.fails.get(launch.python))
        self.made.append(server)
        return server

    def session(self, environment: Environment | None = None) -> Session:
        return Session(environment or Environment("fake"), start=self.start)
