"""LayoutBand: a statement's counts under several memory layouts: how far its count depends on addresses.

In: tasks and layouts (hash seeds and environment sizes). Out: a LayoutBand per task. Every layout needs its own server,
which takes about 15 s to start.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from photometer.errors import MeasurementError
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.model.instruction_counts import InstructionFigures
from photometer.model.task import TaskSpec
from photometer.session.cores import usable_cores
from photometer.session.layout import Layout
from photometer.session.session import Session


@dataclass(frozen=True)
class LayoutCount:
    """The figures under one layout: a seed of Python's string hashes, and bytes added to the environment."""

    hash_seed: int
    padding_bytes: int
    figures: InstructionFigures


@dataclass(frozen=True)
class LayoutBand:
    """The same number of runs of one statement, counted under each layout."""

    task_spec: TaskSpec
    number_per_run: int
    counts: tuple[LayoutCount, ...]

    def __post_init__(self) -> None:
        if not self.counts:
            raise MeasurementError("a layout band needs at least one layout")

    @property
    def total_spread(self) -> float:
        """Largest less smallest, as a share of the smallest."""
        return _spread([count.figures.total for count in self.counts])

    @property
    def outside_allocator_spread(self) -> float:
        """Return how far the layouts differ outside the allocator, as a share."""
        return _spread([count.figures.outside_allocator for count in self.counts])

    @property
    def allocator_calls_spread(self) -> float:
        """Return how far the layouts differ in calls of the allocator, as a share."""
        return _spread([count.figures.allocator_calls for count in self.counts])

    def __repr__(self) -> str:
        lines = [
            f"<{type(self).__module__}.{type(self).__qualname__}>",
            self.task_spec.summarize(),
            f"{'hash seed':>11}{'padding':>9}{'all':>14}{'outside the allocator':>24}{'calls of it':>13}",
        ]
        lines += [
            f"{count.hash_seed:>11}{count.padding_bytes:>9}{count.figures.total:>14,}"
            f"{count.figures.outside_allocator:>24,}{count.figures.allocator_calls:>13,}"
            for count in self.counts
        ]
        spreads = (
            f"{self.total_spread:>14.3%}{self.outside_allocator_spread:>24.3%}{self.allocator_calls_spread:>13.3%}"
        )
        return "\n".join([*lines, f"{'spread':>20}{spreads}"])


def _spread(values: Sequence[int]) -> float:
    smallest, largest = min(values), max(values)
    if smallest == largest:
        return 0.0
    return (largest - smallest) / abs(smallest) if smallest else float("inf")


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
