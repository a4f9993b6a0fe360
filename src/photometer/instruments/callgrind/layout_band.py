"""The layout band: tasks counted again under other hash seeds and environment sizes, on purpose.

In: tasks and layouts; out: a LayoutBand for each task. Every layout needs a server of its own, some 15 s to start.
"""

from __future__ import annotations

import os
import queue
import random
from collections.abc import Iterable, Sequence

from photometer.errors import PhotometerError
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counting_server import CountingServer
from photometer.instruments.callgrind.server_lanes import Lane, LaneRun
from photometer.model.environment import Environment
from photometer.model.layout_band import LayoutBand, LayoutCount
from photometer.session.layout import Layout

LARGEST_PADDING_BYTES = 4096
"""A page: what lies on the stack then begins at any place in one."""

LARGEST_HASH_SEED = 4_294_967_295
"""The largest that PYTHONHASHSEED takes."""

DEFAULT_LAYOUTS = (Layout(), Layout(0, 1000), Layout(1, 0), Layout(2, 500))


def random_layouts(number: int, seed: int = 0) -> tuple[Layout, ...]:
    """So many layouts, the same for the same seed."""
    source = random.Random(seed)
    return tuple(
        Layout(source.randint(1, LARGEST_HASH_SEED), source.randrange(0, LARGEST_PADDING_BYTES)) for _ in range(number)
    )


def layout_bands(
    tasks: Sequence[CountTask],
    layouts: Sequence[Layout] = DEFAULT_LAYOUTS,
    *,
    environment: Environment | None = None,
    servers: int | None = None,
) -> list[LayoutBand]:
    """The band of each task. The first error of any task is raised: a band with a gap would say too little.

    Each layout has one server; `servers` of them run at the same time, by default one a core.
    """

    run = LaneRun(
        [task for _ in layouts for task in tasks],
        [_lane(layout, environment, range(i * len(tasks), (i + 1) * len(tasks))) for i, layout in enumerate(layouts)],
    )
    figures = []
    for outcome in run.run(servers or len(os.sched_getaffinity(0))):
        if isinstance(outcome, PhotometerError):
            raise outcome
        figures.append(outcome.stable)
    return [
        LayoutBand(
            task.task_spec,
            task.number,
            tuple(
                LayoutCount(layout.hash_seed, layout.padding_bytes, figures[i * len(tasks) + index])
                for i, layout in enumerate(layouts)
            ),
        )
        for index, task in enumerate(tasks)
    ]


def _lane(layout: Layout, environment: Environment | None, indices: Iterable[int]) -> Lane:
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in indices:
        waiting.put(index)
    return Lane(lambda: CountingServer(environment, layout=layout), waiting)
