"""The layout band: tasks counted under other hash seeds and environment sizes, on purpose.

In: tasks and layouts. Out: a LayoutBand per task. Every layout needs its own server, which takes about 15 s to start.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.model.instruction_counts import InstructionFigures
from photometer.model.layout_band import LayoutBand, LayoutCount
from photometer.session.cores import usable_cores
from photometer.session.layout import Layout
from photometer.session.session import Session

DEFAULT_LAYOUTS = (Layout(), Layout(0, 1000), Layout(1, 0), Layout(2, 500))


def layout_bands(
    tasks: Sequence[CountTask],
    layouts: Sequence[Layout] = DEFAULT_LAYOUTS,
    *,
    session: Session | None = None,
    servers: int | None = None,
) -> list[LayoutBand]:
    """Return the band of each task. Raise the first error of any task: a band with a gap would be misleading.

    Each layout has one server; `servers` is how many run at the same time, by default one per core.
    """
    if session is None:
        with Session() as own:
            return layout_bands(tasks, layouts, session=own, servers=servers)

    def count_under(layout: Layout) -> list[InstructionFigures]:
        counter = InstructionCounter(session, layout=layout)
        try:
            return [counter.count(task).instruction_counts().stable for task in tasks]
        finally:
            counter.close()

    threads = ThreadPoolExecutor(servers or len(usable_cores()))
    try:
        figures = list(threads.map(count_under, layouts))
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
    return [
        LayoutBand(
            task.task_spec,
            task.number,
            tuple(
                LayoutCount(layout.hash_seed, layout.padding_bytes, counted[index])
                for layout, counted in zip(layouts, figures, strict=True)
            ),
        )
        for index, task in enumerate(tasks)
    ]
