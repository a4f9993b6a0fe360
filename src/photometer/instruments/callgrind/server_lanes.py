"""Lanes of tasks: each lane is worked through by one server, and several lanes run at the same time.

In: lanes and how many threads; out: for each task its counts or the error it met. A server that died is replaced. When
the run is stopped (Ctrl-C, or an error that is not ours) every server is ended before it raises.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from photometer.errors import PhotometerError
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counting_server import CountingServer
from photometer.model.instruction_counts import InstructionCounts

Outcome = InstructionCounts | PhotometerError
OnOutcome = Callable[[int, Outcome], object]


@dataclass(frozen=True)
class Lane:
    """A kind of server, and the indices of the tasks that wait for it. Lanes may share one queue."""

    start_server: Callable[[], CountingServer]
    waiting: queue.SimpleQueue[int]


@dataclass
class LaneRun:
    """All tasks by index, the lanes, and what has come of them."""

    tasks: Sequence[CountTask]
    lanes: Sequence[Lane]
    on_outcome: OnOutcome | None = None
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    _waiting: queue.SimpleQueue[Lane] = field(default_factory=queue.SimpleQueue)
    _servers: set[CountingServer] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _failure: BaseException | None = None

    def run(self, threads: int) -> list[Outcome]:
        """Work through all lanes, so many at a time."""
        for lane in self.lanes:
            self._waiting.put(lane)
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(min(threads, len(self.lanes)))]
        try:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        except BaseException:
            self._stopped.set()
            with self._lock:
                for server in self._servers:
                    server.kill()
            for worker in workers:
                # Ctrl-C may have come before all were started.
                if worker.ident is not None:
                    worker.join()
            raise
        if self._failure is not None:
            raise self._failure
        return [self.outcomes[index] for index in range(len(self.tasks))]

    def _work(self) -> None:
        try:
            while not self._stopped.is_set():
                try:
                    lane = self._waiting.get_nowait()
                except queue.Empty:
                    return
                self._work_through(lane)
        except BaseException as error:
            self._failure = error
            self._stopped.set()

    def _work_through(self, lane: Lane) -> None:
        server: CountingServer | None = None
        try:
            while not self._stopped.is_set():
                try:
                    index = lane.waiting.get_nowait()
                except queue.Empty:
                    return
                if server is not None and not server.alive:
                    self._close(server)
                    server = None
                outcome: Outcome
                try:
                    if server is None:
                        server = self._start(lane)
                    # A run that was stopped while the server started: nobody waits for the count.
                    if self._stopped.is_set():
                        return
                    outcome = server.count(self.tasks[index]).instruction_counts()
                except PhotometerError as error:
                    outcome = error
                with self._lock:
                    self.outcomes[index] = outcome
                    if self.on_outcome is not None:
                        self.on_outcome(index, outcome)
        finally:
            if server is not None:
                self._close(server)

    def _start(self, lane: Lane) -> CountingServer:
        server = lane.start_server()
        with self._lock:
            self._servers.add(server)
        return server

    def _close(self, server: CountingServer) -> None:
        with self._lock:
            self._servers.discard(server)
        with contextlib.suppress(PhotometerError):
            server.close()
