"""Simulated caches and branches: misses and mispredictions of one run in a machine that Callgrind simulates.

In: a session and what is asked. Out: CacheCounts, exact like instruction counts. The caches have the same size whatever
the processor is, so that figures of two machines can be compared; they are recorded. They say what a run's pattern of
memory and branches is like, not how long it takes: the simulated caches neither prefetch nor know other processes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, ClassVar

from photometer.errors import MeasurementError
from photometer.instruments.callgrind.count_order import count_task_of, counts_on_host
from photometer.instruments.callgrind.count_task import CountedTask
from photometer.instruments.callgrind.counter import count_in_time, counter_of
from photometer.instruments.callgrind.profile import INSTRUCTIONS, CallgrindProfile
from photometer.instruments.callgrind.python_frames import NO_FRAMES, FramedSide, python_stacks
from photometer.instruments.declaration import Asked, Figure, Instrument, Option
from photometer.instruments.ready_order import task_spec_of
from photometer.model.records import AtLeast, Positive
from photometer.model.task import TaskSpec
from photometer.session.session import Counting, Session

# Bytes, ways, bytes per line: those of a usual processor of these years.
FIRST_LEVEL = "32768,8,64"
LAST_LEVEL = "8388608,16,64"
GEOMETRY = (f"--I1={FIRST_LEVEL}", f"--D1={FIRST_LEVEL}", f"--LL={LAST_LEVEL}")
SIMULATING = Counting(cache_simulation=True, branch_simulation=True, callgrind_options=GEOMETRY)
# Callgrind's names of the events that each figure is the sum of: instruction fetches, data reads and data writes that
# miss; conditional and indirect branches that are mispredicted.
EVENTS = {
    "first_level_misses": ("I1mr", "D1mr", "D1mw"),
    "last_level_misses": ("ILmr", "DLmr", "DLmw"),
    "mispredicted_branches": ("Bcm", "Bim"),
}
# Where things lie in memory decides which of them share a line or a way. Repeats in one layout differed by about 0.1 %,
# one statement in two worktrees by less; builds may lie further apart, so that this is far above what was seen.
LAYOUT_SHARE = 0.05
FEW_MISSES = 100.0

Amount = Annotated[int, AtLeast(0)]


@dataclasses.dataclass(frozen=True)
class CacheEvents:
    """The events of all runs of one repeat."""

    first_level_misses: Amount
    last_level_misses: Amount
    mispredicted_branches: Amount


@dataclasses.dataclass(frozen=True)
class CacheCounts:
    """The events of `number_per_run` runs; `loop` are those of as many empty runs.

    `geometry` is in Callgrind's own words.
    """

    KIND: ClassVar[str] = "simulated_caches"
    ALWAYS: ClassVar[tuple[str, ...]] = ("geometry",)

    task_spec: TaskSpec
    number_per_run: Positive
    repeats: tuple[CacheEvents, ...]
    loop: CacheEvents
    geometry: tuple[str, ...] = GEOMETRY

    def __post_init__(self) -> None:
        if not self.repeats:
            raise MeasurementError(
                "simulated caches need at least one repeat", remedy="Measure with repeats=1 or more."
            )

    def per_run(self, event: str) -> float:
        """Return the most frequent value of the repeats (the last of several), without the empty loop."""
        values = self._values(event)
        stable = max(range(len(values)), key=lambda place: (values.count(values[place]), place))
        return values[stable]

    def range_of(self, event: str) -> tuple[float, float]:
        values = self._values(event)
        return min(values), max(values)

    def _values(self, event: str) -> list[float]:
        empty = getattr(self.loop, event)
        return [max(getattr(each, event) - empty, 0) / self.number_per_run for each in self.repeats]

    @property
    def repeats_differ(self) -> bool:
        """Whether repeats differ by more than the memory layout explains."""
        ranges = [self.range_of(field.name) for field in dataclasses.fields(CacheEvents)]
        return any(high - low > max(LAYOUT_SHARE * high, FEW_MISSES) for low, high in ranges)


def count_caches(session: Session, asked: Asked) -> CacheCounts:
    """Simulate the caches for an order; if it is too slow for the usual number of runs, in fewer runs."""
    counted = _count(session, asked, asked.repeats)
    return CacheCounts(
        task_spec_of(asked.order),
        counted.task.number,
        tuple(_events(profile) for profile in counted.profiles),
        _events(counted.loop_profile),
    )


def _count(session: Session, asked: Asked, repeats: int, *, python_frames: bool = False) -> CountedTask:
    return count_in_time(
        counter_of(session, SIMULATING, python_frames=python_frames),
        count_task_of(asked.ready, repeats),
        seconds_per_run=asked.seconds_per_run,
        cores=asked.cores,
        python_frames=python_frames,
    )


def _events(profile: CallgrindProfile) -> CacheEvents:
    return CacheEvents(**{name: sum(map(profile.total, events)) for name, events in EVENTS.items()})


def stacks_of_misses(session: Session, asked: Asked, figure: Figure) -> FramedSide:
    """Return the call stacks of one figure, with Python's functions in them."""
    counted = _count(session, asked, 1, python_frames=True)
    frames = counted.frame_maps[0] if counted.frame_maps else NO_FRAMES
    stacks = python_stacks(only_events(counted.profiles[0], EVENTS[figure.name]), frames)
    return FramedSide(tuple(stacks), counted.task.number, frames.lines, frames.calls)


def only_events(profile: CallgrindProfile, events: Sequence[str]) -> CallgrindProfile:
    """Return the profile with the sum of some events in place of instructions."""
    places = [profile.event_index(event) for event in events]

    def summed(costs: Sequence[int]) -> tuple[int, ...]:
        return (sum(costs[place] for place in places),)

    return dataclasses.replace(
        profile,
        events=(INSTRUCTIONS,),
        totals=summed(profile.totals),
        self_costs=tuple(dataclasses.replace(cost, costs=summed(cost.costs)) for cost in profile.self_costs),
        calls=tuple(dataclasses.replace(call, costs=summed(call.costs)) for call in profile.calls),
    )


def _figure(name: str, head: str, meaning: str) -> Figure:
    return Figure(
        name,
        "",
        of=lambda counts: counts.per_run(name),
        exact=True,
        head=head,
        meaning=meaning,
        interval=lambda counts: counts.range_of(name),
        tolerance=LAYOUT_SHARE,
        least=FEW_MISSES,
    )


SIMULATED_CACHES = Instrument(
    name="cache",
    doing="simulating caches",
    record=CacheCounts,
    measure=count_caches,
    # The later, the more a miss costs: of several that changed, the last is the likely cause of a time.
    figures=(
        _figure("mispredicted_branches", "mispredicted branches", "conditional and indirect ones"),
        _figure("first_level_misses", "first-level misses", "of code and data"),
        _figure("last_level_misses", "last-level misses", "of code and data; each goes to memory"),
    ),
    option=Option("cache", "Simulate caches and branches: misses and mispredictions of a run (needs Valgrind)."),
    applies=counts_on_host,
    under_valgrind=True,
    first_guess_seconds=2.0,
    title="Simulated caches, per run",
    notes=("The simulated caches have 32 KiB for code and for data at the first level, and 8 MiB at the last.",),
    remark=lambda counts: "repeats differ; the most frequent value is shown" if counts.repeats_differ else "",
    stacks=stacks_of_misses,
)
