"""Many tasks counted by several servers side by side. In: tasks; out: for each, its counts or the error it met.

Counting is exact, so servers may share the machine's cores with each other and with anything else: nothing is timed.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Sequence

from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counting_server import CountingServer
from photometer.instruments.callgrind.server_lanes import Lane, LaneRun, OnOutcome, Outcome
from photometer.model.environment import Environment
from photometer.session.layout import Layout


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

    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(tasks)):
        waiting.put(index)
    wanted = min(servers or len(os.sched_getaffinity(0)), len(tasks))
    return LaneRun(tasks, [Lane(start_server, waiting)] * wanted, on_outcome).run(wanted)
