"""LocalExecutor: does the work on this machine, in children of fork servers that it starts when first needed.

Each request is done by the thread that asks, on the cores that the request names: the thread pins itself and the
server it uses, so that whatever either starts runs there too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from photometer.errors import PhotometerError
from photometer.execution.builder import Builder
from photometer.execution.device_order import measure_on_device
from photometer.execution.executor import Answer, Request, failure_answer
from photometer.execution.measure_order import ReadyOrder, count_order, run_once, time_order
from photometer.execution.script_model import script_model
from photometer.instruments.callgrind.counting_server import CountingServer
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.model.environment import Environment
from photometer.plan.work_order import WorkOrder
from photometer.session.fork_server import ForkServer
from photometer.session.memory_limit import limit_memory, memory_limit_bytes
from photometer.session.pool import Server, ServerStock


class LocalExecutor:
    """Use as a context manager, or call `close`. `stop` ends everything at once, from any thread."""

    def __init__(self, environment: Environment | None = None) -> None:
        environment = environment or Environment.current()
        limit_bytes = memory_limit_bytes()
        self._timing = ServerStock(lambda: _limited(ForkServer(environment), limit_bytes))
        self._counting = ServerStock(lambda: _limited(CountingServer(environment), limit_bytes))
        self._builder = Builder()
        self._verbs: dict[str, Callable[[Request], Answer]] = {
            "describe": self._describe,
            "script": self._script,
            "build": self._builder.build,
            "time": self._time,
            "count": self._count,
            "device": self._device,
            "probe": self._probe,
        }

    def execute(self, request: Request) -> Answer:
        pin(0, request.get("cpus", ()))
        try:
            return {"ok": True, **self._verbs[request["do"]](request)}
        except PhotometerError as error:
            return failure_answer(error)

    def stop(self) -> None:
        """Whoever waits for an answer gets a failure."""
        for starting in tuple(ForkServer.starting):
            starting.kill()
        self._timing.kill()
        self._counting.kill()
        self._builder.kill()

    def close(self) -> None:
        self._timing.close()
        self._counting.close()

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.stop()
        self.close()

    def _describe(self, request: Request) -> Answer:
        with self._timing.lend(_width(request)) as server, server.child() as child:
            return {"facts": {**server.greeting, **child.ask("facts")}}

    def _script(self, request: Request) -> Answer:
        with self._timing.lend(_width(request)) as server:
            pin(server.pid, request.get("cpus", ()))
            script_model(server, request["source"], Path(request["path"]), request["timeout_seconds"])
        return {}

    def _time(self, request: Request) -> Answer:
        with self._timing.lend(_width(request)) as server:
            pin(server.pid, request.get("cpus", ()))
            return {"record": time_order(server, _ready(request), request["min_run_time"])}

    def _count(self, request: Request) -> Answer:
        with self._counting.lend() as server:
            pin(server.greeting["pid"], request.get("cpus", ()))
            return {"record": count_order(server, _ready(request), request["repeats"])}

    def _device(self, request: Request) -> Answer:
        with self._timing.lend(_width(request)) as server:
            pin(server.pid, request.get("cpus", ()))
            return {"record": measure_on_device(server, _ready(request), request["min_run_time"])}

    def _probe(self, request: Request) -> Answer:
        with self._timing.lend(_width(request)) as server:
            pin(server.pid, request.get("cpus", ()))
            run_once(server, _ready(request), tuple(request["path"]), request["folder"])
        return {}


def pin(pid: int, cores: Sequence[int]) -> None:
    """Keep a process (0: this thread) to these cores; none given leaves it alone."""
    if cores and hasattr(os, "sched_setaffinity"):
        # A server that has just died is told by whoever asks it for a child.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(pid, cores)


def _width(request: Request) -> int:
    """Servers for other numbers of cores are others: libgomp asks only once how many there are, when it is loaded."""
    return len(request.get("cpus", ()))


def _ready(request: Request) -> ReadyOrder:
    built: dict[str, Any] | None = request.get("built")
    return ReadyOrder(
        WorkOrder.from_json(request["order"]),
        request.get("model_path"),
        None if built is None else BuiltSnippet(Path(built["library"]), built["symbol"], cached=True),
    )


def _limited(server: Server, limit_bytes: int | None) -> Any:
    limit_memory(server.greeting["pid"], limit_bytes)
    return server
