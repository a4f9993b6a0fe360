"""The layout band: tasks counted again under other hash seeds and environment sizes, on purpose.

In: tasks and layouts; out: a LayoutBand for each task. Every layout needs a server of its own, some 15 s to start.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from photometer.errors import PhotometerError
from photometer.instruments.callgrind.count_many import count_many
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.frozen_layout import Layout
from photometer.model.environment import Environment
from photometer.model.layout_band import LayoutBand, LayoutCount

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

    def counts_under(layout: Layout) -> list[LayoutCount]:
        counts = []
        for outcome in count_many(tasks, environment=environment, servers=1, layout=layout):
            if isinstance(outcome, PhotometerError):
                raise outcome
            counts.append(LayoutCount(layout.hash_seed, layout.padding_bytes, outcome.stable))
        return counts

    with ThreadPoolExecutor(servers or len(os.sched_getaffinity(0))) as pool:
        by_layout = list(pool.map(counts_under, layouts))
    return [
        LayoutBand(task.task_spec, task.number, tuple(counts[index] for counts in by_layout))
        for index, task in enumerate(tasks)
    ]
