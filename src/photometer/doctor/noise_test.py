"""The noise test: time the same small work again and again for some seconds, on every core in turn.

In: the cores, the seconds. Out: a NoiseTest with, for each visit to a core, how much slower the work was than at
best there. `computing` is a loop that stays in the first cache: it shows the clock, hyper-threads and stolen time.
`memory` copies more than the second cache holds: it shows neighbours that share the last cache and the memory.
"""

from __future__ import annotations

import dataclasses
import enum
import time
from collections.abc import Callable, Mapping, Sequence

from photometer.session.cores import on_cores
from photometer.stats.summary import quantile

DEFAULT_SECONDS = 10.0
# Some forty blocks of each kind: enough for a low quantile, short beside the states of a machine (0.1 s to minutes).
VISIT_SECONDS = 0.05
# More cores than this would be seen too seldom in ten seconds; every n-th is taken then.
MOST_CORES = 16
# A visit whose undisturbed time is within this of the best is in the machine's best state.
SAME_STATE = 0.03
# A block that took so much longer than its visit's undisturbed time was interrupted.
INTERRUPTED = 0.25
# The undisturbed time of a visit: a tenth of its blocks were faster.
LOW = 0.1
COPIED_BYTES = 4 * 1024 * 1024
LOOP_STEPS = 20_000


class Work(enum.Enum):
    COMPUTING = "computing"
    MEMORY = "memory"


@dataclasses.dataclass(frozen=True)
class Visit:
    """`slowdown` is the undisturbed time of the visit over the best of its core; `interrupted` a share of blocks."""

    at_seconds: float
    core: int
    work: Work
    slowdown: float
    interrupted: float


@dataclasses.dataclass(frozen=True)
class MachineState:
    """The machine was this much slower than at best, for this share of the visits."""

    slowdown: float
    share: float


@dataclasses.dataclass(frozen=True)
class NoiseTest:
    seconds: float
    visits: tuple[Visit, ...]

    def of(self, work: Work, core: int | None = None) -> tuple[Visit, ...]:
        return tuple(v for v in self.visits if v.work is work and core in (None, v.core))

    @property
    def cores(self) -> tuple[int, ...]:
        return tuple(sorted({visit.core for visit in self.visits}))

    def best_share(self, work: Work) -> float:
        """Return the share of the visits in which the machine was in its best state."""
        visits = self.of(work)
        return sum(visit.slowdown <= 1 + SAME_STATE for visit in visits) / len(visits) if visits else 0.0

    def interrupted_share(self, work: Work) -> float:
        visits = self.of(work)
        return sum(visit.interrupted for visit in visits) / len(visits) if visits else 0.0

    def states(self, work: Work) -> tuple[MachineState, ...]:
        """Return the states of the machine and their shares, fastest first.

        Visits within a few per cent are one state.
        """
        levels = sorted(visit.slowdown for visit in self.of(work))
        groups: list[list[float]] = []
        for level in levels:
            if groups and level <= groups[-1][0] * (1 + 2 * SAME_STATE):
                groups[-1].append(level)
            else:
                groups.append([level])
        return tuple(MachineState(quantile(group, 0.5), len(group) / len(levels)) for group in groups)


Blocks = Mapping[Work, Callable[[], object]]


def own_blocks() -> Blocks:
    """Return the two kinds of work."""
    source, target = bytearray(COPIED_BYTES), bytearray(COPIED_BYTES)

    def compute() -> int:
        total = 0
        for step in range(LOOP_STEPS):
            total += step
        return total

    def copy() -> None:
        target[:] = source

    return {Work.COMPUTING: compute, Work.MEMORY: copy}


def take_noise_test(
    cores: Sequence[int],
    seconds: float = DEFAULT_SECONDS,
    *,
    blocks: Blocks | None = None,
    clock: Callable[[], float] = time.perf_counter,
    on_visit: Callable[[float], object] = lambda _: None,
) -> NoiseTest:
    """Visit one core after another until the time is up. `on_visit` is called with the seconds that have passed."""
    work = own_blocks() if blocks is None else blocks
    every = -(-len(cores) // MOST_CORES) if cores else 1
    chosen = list(cores)[::every] or [-1]
    taken: list[tuple[float, int, Work, list[float]]] = []
    start = clock()
    while (now := clock() - start) < seconds:
        core = chosen[len(taken) // len(work) % len(chosen)]
        with on_cores(() if core < 0 else (core,)):
            for kind, run in work.items():
                at = clock() - start
                taken.append((at, max(core, 0), kind, _time_blocks(run, clock)))
        on_visit(now)
    return NoiseTest(clock() - start, _visits(taken))


def _time_blocks(run: Callable[[], object], clock: Callable[[], float]) -> list[float]:
    # Whatever ran before is in the caches and in the pipeline.
    run()
    times: list[float] = []
    end = clock() + VISIT_SECONDS / 2
    while (before := clock()) < end or not times:
        run()
        times.append(clock() - before)
    return times


def _visits(taken: Sequence[tuple[float, int, Work, list[float]]]) -> tuple[Visit, ...]:
    floors = [quantile(sorted(times), LOW) for _, _, _, times in taken]
    best: dict[tuple[int, Work], float] = {}
    for (_, core, work, _), floor in zip(taken, floors, strict=True):
        best[core, work] = min(floor, best.get((core, work), floor))
    return tuple(
        Visit(
            round(at, 3),
            core,
            work,
            round(floor / best[core, work], 4),
            round(sum(t > floor * (1 + INTERRUPTED) for t in times) / len(times), 4),
        )
        for (at, core, work, times), floor in zip(taken, floors, strict=True)
    )
