"""Instructions of both sides of a comparison: each side's orders counted by a server under Callgrind, side by side.

In: two environments, orders ready to run on each, a layout. Out: for each order the two counts with their functions,
or the error. The two servers run at the same time: counting is exact, so they need no quiet.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from photometer.errors import PhotometerError
from photometer.execution.measure_order import ReadyOrder
from photometer.execution.order_record import task_spec_of
from photometer.instruments.callgrind.annotate import exclusive_counts
from photometer.instruments.callgrind.call_tree import folded_stacks
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counting_server import CountingServer
from photometer.model.environment import Environment
from photometer.model.function_counts import FunctionCounts
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.packed_stacks import SMALLEST_SHARE, pack_stacks
from photometer.session.fork_server import ForkServer
from photometer.session.layout import Layout


@dataclasses.dataclass(frozen=True)
class SideCount:
    """One order on one side under one layout."""

    counts: InstructionCounts
    functions: FunctionCounts
    # As pack_stacks leaves them: the whole tree of a large model is many megabytes.
    packed_stacks: Mapping[str, Any] = dataclasses.field(default_factory=dict)


SideOutcome = SideCount | PhotometerError


def count_sides(
    environments: Sequence[Environment],
    orders: Sequence[Sequence[ReadyOrder]],
    *,
    layout: Layout | None = None,
    on_count: Callable[[], object] = lambda: None,
) -> list[list[SideOutcome]]:
    """For each environment, the outcomes of its orders, in their order. An environment that does not start raises."""
    outcomes: list[list[SideOutcome]] = [[] for _ in environments]
    errors: list[BaseException] = []
    servers: list[CountingServer] = []
    stopped = threading.Event()

    def count_side(side: int) -> None:
        try:
            with CountingServer(environments[side], layout=layout) as server:
                servers.append(server)
                for ready in orders[side]:
                    if stopped.is_set():
                        return
                    outcomes[side].append(_count(server, ready))
                    on_count()
        except BaseException as error:
            errors.append(error)
            stopped.set()

    threads = [threading.Thread(target=count_side, args=(side,), daemon=True) for side in range(len(environments))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        stopped.set()
        for server in servers:
            server.kill()
        # Those that still import torch are nobody's yet.
        for starting in tuple(ForkServer.starting):
            starting.kill()
        raise
    if errors:
        raise errors[0]
    return outcomes


def _count(server: CountingServer, ready: ReadyOrder) -> SideOutcome:
    spec = task_spec_of(ready.order)
    task = CountTask(
        dataclasses.replace(spec, setup=ready.setup), built=ready.built, timeout_seconds=ready.order.timeout_seconds
    )
    try:
        counted = server.count(task)
    except PhotometerError as error:
        if not server.alive:
            raise
        return error
    counts = dataclasses.replace(counted.instruction_counts(), task_spec=spec)
    profile = counted.profiles[counts.stable_repeat]
    stacks = pack_stacks(folded_stacks(profile, smallest_share=SMALLEST_SHARE))
    return SideCount(counts, exclusive_counts(profile), stacks)
