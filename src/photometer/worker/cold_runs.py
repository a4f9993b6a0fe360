"""Time single runs whose data and code are not in the processor's caches. See instruments/cold_caches.py.

Before each run, a buffer of twice the last cache is read, by as many threads as the statement has: the
caches of each core and the shared one then hold nothing but the buffer, and so do the tables of addresses. The clock
and the loop around the statement are cold, too; blocks of no runs, timed in the same way, show what these take.
"""

from __future__ import annotations

import glob
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

from .messages import LoopRequest, Reply
from .torch_here import needed_torch

if TYPE_CHECKING:
    from collections.abc import Callable

# If the system does not say how large the last cache is: no usual processor has more per socket for one program.
UNKNOWN_CACHE_BYTES = 64 << 20
# Some caches keep what was used often beside what streams through: twice their size leaves little of it.
TIMES_THE_CACHE = 2
# Fewer show nothing, even if they take longer than was asked for.
FEWEST_ROUNDS = 5
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class ColdSeconds(Reply):
    """Seconds of single runs, cold and warm, and of blocks of no runs; all lists are of the same rounds."""

    cold: list[float]
    warm: list[float]
    empty_cold: list[float]
    empty_warm: list[float]
    cache_bytes: int
    evicted_bytes: int


@dataclass(frozen=True)
class TimeCold(LoopRequest[ColdSeconds]):
    """Time at most so many rounds of a cold and a warm run, for about `seconds`."""

    verb: ClassVar[str] = "time-cold"
    reply: ClassVar[type[Reply]] = ColdSeconds
    rounds: int
    seconds: float

    def perform(self, run_block: Callable[[int], float]) -> ColdSeconds:
        torch = needed_torch("timing with cold caches")
        cache_bytes = last_cache_bytes()
        buffer = torch.ones(TIMES_THE_CACHE * cache_bytes // 4, dtype=torch.float32, device="cpu")
        cold: list[float] = []
        warm: list[float] = []
        empty_cold: list[float] = []
        empty_warm: list[float] = []
        run_block(1)
        end = perf_counter() + self.seconds
        while len(cold) < self.rounds and (len(cold) < FEWEST_ROUNDS or perf_counter() < end):
            buffer.sum()
            empty_cold.append(run_block(0))
            buffer.sum()
            cold.append(run_block(1))
            # The run after a cold one may still meet what that one has pushed out.
            run_block(1)
            warm.append(run_block(1))
            empty_warm.append(run_block(0))
        return ColdSeconds(cold, warm, empty_cold, empty_warm, cache_bytes, 4 * buffer.numel())


def last_cache_bytes(folder: str = "/sys/devices/system/cpu") -> int:
    """Return the size of the largest cache that the system lists."""
    sizes = []
    for path in glob.glob(f"{folder}/cpu*/cache/index*/size"):  # noqa: PTH207 - pathlib is not loaded here
        with open(path) as file:  # noqa: PTH123
            text = file.read().strip()
        if text[:-1].isdigit() and text[-1:] in _UNITS:
            sizes.append(int(text[:-1]) * _UNITS[text[-1]])
    return max(sizes, default=UNKNOWN_CACHE_BYTES)
