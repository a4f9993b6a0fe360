"""Many tasks counted by several servers side by side. In: tasks; out: for each, its counts or the error it met.

Counting is exact, so servers may share the machine's cores with each other and with anything else: nothing is timed.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from photometer.errors import PhotometerError
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counting_server import CountingServer
from photometer.instruments.frozen_layout import Layout
from photometer.model.environment import Environment
from photometer.model.instruction_counts import InstructionCounts

Outcome = InstructionCounts | PhotometerError
OnOutcome = Callable[[int, Outcome], object]


@dataclass
class _Run:
    """What the threads share."""

    tasks: Sequence[CountTask]
    start_server: Callable[[], CountingServer]
    on_outcome: OnOutcome | None
    waiting: queue.SimpleQueue[int] = field(default_factory=queue.SimpleQueue)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    servers: list[CountingServer] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stopped: threading.Event = field(default_factory=threading.Event)
    failure: BaseException | None = None


def count_many(
    tasks: Sequence[CountTask],
    *,
    environment: Environment | None = None,
    servers: int | None = None,
    layout: Layout | None = None,
    cache_simulation: bool = False,
    branch_simulation: bool = False,
    on_outcome: OnOutcome | None = None,
) -> list[Outcome]:
    """The counts of every task, in the order of the tasks; a task that fails has its error there.

    `servers` run at the same time, by default one a core. `on_outcome(index, outcome)` is called as each is known, by
    one thread at a time. Stopped by Ctrl-C or an error, it ends all servers before it raises.
    """

    def start_server() -> CountingServer:
        return CountingServer(
            environment, layout=layout, cache_simulation=cache_simulation, branch_simulation=branch_simulation
        )

    run = _Run(tasks, start_server, on_outcome)
    for index in range(len(tasks)):
        run.waiting.put(index)
    wanted = min(servers or len(os.sched_getaffinity(0)), len(tasks))
    threads = [threading.Thread(target=_work, args=(run,), daemon=True) for _ in range(wanted)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        run.stopped.set()
        with run.lock:
            for server in run.servers:
                server.kill()
        for thread in threads:
            thread.join()
        raise
    if run.failure is not None:
        raise run.failure
    return [run.outcomes[index] for index in range(len(tasks))]


def _work(run: _Run) -> None:
    """One thread: a server, and tasks for it until there are none. A server that died is replaced."""
    server: CountingServer | None = None
    try:
        while not run.stopped.is_set():
            try:
                index = run.waiting.get_nowait()
            except queue.Empty:
                return
            if server is not None and not server.alive:
                server.close()
                server = None
            outcome: Outcome
            try:
                if server is None:
                    server = run.start_server()
                    with run.lock:
                        run.servers.append(server)
                outcome = server.count(run.tasks[index]).instruction_counts()
            except PhotometerError as error:
                outcome = error
            with run.lock:
                run.outcomes[index] = outcome
                if run.on_outcome is not None:
                    run.on_outcome(index, outcome)
    except BaseException as error:
        run.failure = error
        run.stopped.set()
    finally:
        if server is not None:
            with contextlib.suppress(PhotometerError):
                server.close()
