"""Scatter a child's memory: draw the places of heap, mappings and stack from a seed, before the set-up runs.

A statement's time depends on the addresses of its memory, by a per cent and more. With one layout for all replicates
that is a bias which looks like evidence; drawn again for each side of each replicate it is noise, which the interval
covers. Standard library and torch only.
"""

from __future__ import annotations

import mmap
import random
import sys
from collections.abc import Callable
from typing import Any, TypeVar

# Tensors and byte arrays of all sizes, half of which are freed again: what the set-up makes then lies in random holes
# and its parts lie differently to each other, too. (A layer norm whose set-up was reordered was 3.9 ± 0.2 %
# slower in one fixed layout.)
MOST_TENSORS = 100
MOST_BYTE_ARRAYS = 30
SMALLEST_BYTES, LARGEST_BYTES = 16, 256_000
# Objects of up to 512 bytes come from Python's own pools, which malloc does not move.
MOST_SMALL_OBJECTS = 400
LARGEST_SMALL_OBJECT_BYTES = 480
# Python hands out the list that was freed last, of as many as it keeps: these are used up, and freed in random order.
FREE_LISTS = 80
# Large tensors are mapped below what is mapped already: below this, which is larger than any gap that is left, and is
# never touched.
MAPPED_PAGES = 16_384
MOST_MORE_PAGES = 512
# What a run allocates often lies directly behind what the set-up made: at the same distance in every layout, and a copy
# minds that (its target just behind its source, modulo a page). Blocks of these sizes and up to a page more, which are
# taken after the set-up and never touched, make the distance random: some lie at the heap's end, whatever its holes.
BLOCKS_BEHIND = (20_000, 80_000, 300_000, 1_000_000, 4_000_000)
# A small result lies in the first hole that fits, and so at places that depend on the order of the set-up's lines: a
# sigmoid of eight numbers was up to 4 % slower in 9 of 28 comparisons of the same lines in two orders. A random number
# of such holes is taken as well.
MOST_HOLES = 100
SMALLEST_HOLE_BYTES, LARGEST_HOLE_BYTES = 16, 4_096

# One level takes some hundred bytes of the C stack; 32 of them go past several pages.
MOST_LEVELS = 32

_Result = TypeVar("_Result")


def scatter_memory(seed: int, torch: Any) -> list[object]:
    """Allocate memory of random sizes and return it; the caller keeps it for as long as the layout is needed."""
    draw = random.Random(seed)
    take = _taker(torch)

    def size() -> int:
        return _size_between(draw, SMALLEST_BYTES, LARGEST_BYTES)

    taken: list[object] = [take(size()) for _ in range(draw.randrange(MOST_TENSORS))]
    taken += [bytearray(size()) for _ in range(draw.randrange(MOST_BYTE_ARRAYS))]
    taken += [
        bytes(draw.randrange(1, LARGEST_SMALL_OBJECT_BYTES)) for _ in range(draw.randrange(1, MOST_SMALL_OBJECTS))
    ]
    taken += [[] for _ in range(FREE_LISTS + draw.randrange(FREE_LISTS))]
    draw.shuffle(taken)
    del taken[: len(taken) // 2]
    pages = MAPPED_PAGES + draw.randrange(MOST_MORE_PAGES)
    taken.append(mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ))
    return taken


def move_end(seed: int, torch: Any) -> list[object]:
    """Allocate memory after the set-up's and return it, to be kept as well."""
    draw = random.Random(seed ^ 0xE2D)
    take = _taker(torch)
    behind = [take(size + draw.randrange(mmap.PAGESIZE)) for size in BLOCKS_BEHIND]
    holes = draw.randrange(MOST_HOLES)
    return behind + [take(_size_between(draw, SMALLEST_HOLE_BYTES, LARGEST_HOLE_BYTES)) for _ in range(holes)]


def _size_between(draw: random.Random, smallest: int, largest: int) -> int:
    """Return a random size: each order of magnitude is as likely as any other."""
    return int(smallest * (largest / smallest) ** draw.random())


def _taker(torch: Any) -> Callable[[int], object]:
    """Return a function that allocates memory as most statements do: as tensors, or as bytes without torch."""
    if torch is None:
        return bytearray
    return lambda size: torch.empty(size, dtype=torch.uint8)


def stack_levels(seed: int) -> int:
    """Return how many levels deeper the statement runs."""
    return random.Random(seed ^ 0x57AC).randrange(MOST_LEVELS)


def call_deeper(levels: int, call: Callable[[], _Result]) -> _Result:
    """Call from a number of levels further down the C stack: `map` calls back into the interpreter."""
    if levels <= 0:
        return call()
    return next(map(lambda below: call_deeper(below, call), (levels - 1,)))


def make_room_for(levels: int) -> None:
    """Let the user's code recurse as deep as it could without these levels, each a call of Python and one of C."""
    sys.setrecursionlimit(sys.getrecursionlimit() + 3 * levels)
