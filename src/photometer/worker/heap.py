"""The heap of a child: where blocks come from does not depend on what the process has freed before.

glibc maps a large block (128 KiB and more), so that the kernel clears its pages when it is used; once the process has
freed a mapped one, blocks up to that size come from the heap, and stay with the process when they are freed. Imports
and layouts differ between sides, and so did the place of a statement's results: 8 MiB took 1.6 ms from the heap and 4
to 25 ms newly mapped. See docs/architecture.md, "What surrounds a child". Standard library only.
"""

from __future__ import annotations

import ctypes
import resource
import sys

# Of <malloc.h>.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
# Where glibc's own threshold ends when it grows: larger blocks are mapped anew for each run in every process.
MAPPED_BYTES = 32 << 20
NEVER = -1
# What is left when a block is aligned to 64 bytes: 32 to 96 bytes with glibc's own 8, in steps of 16. It keeps seven
# freed blocks of a size for the thread that freed them (tcache_count).
SLIVER_BYTES = range(24, 24 + 96, 16)
CACHED_OF_A_SIZE = 7


def keep_freed_memory() -> None:
    """Take blocks up to MAPPED_BYTES from the heap, and keep what is freed: the state that a process tends to anyway.

    Once a threshold is set, glibc does not move either of them.
    """
    libc = _libc()
    if libc is not None:
        libc.mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, NEVER)


def fill_small_caches() -> None:
    """Fill the allocator's caches of small blocks, as they are after some runs.

    A tensor is cut out of a larger block, as it begins at a multiple of 64. The slivers beside it are freed, but as
    long as there is room in these caches they are kept apart from their neighbours. So the tensor's block, once it is
    freed, is too small for the next run's, which takes new memory: up to seven times for each size of slivers.
    """
    libc = _libc()
    if libc is None:
        return
    taken = [libc.malloc(size) for size in SLIVER_BYTES for _ in range(CACHED_OF_A_SIZE)]
    for block in taken:
        libc.free(block)


def _libc() -> ctypes.CDLL | None:
    """Return the C library if it is glibc: musl and macOS have no thresholds, and always behave the same."""
    libc = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
    if libc is None or not hasattr(libc, "mallopt"):
        return None
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    return libc


def touched_pages() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def resident_pages() -> int:
    """Return how many pages the process has; 0 if the system does not say. Kernels before 6.2 are off by up to 64."""
    try:
        with open("/proc/self/statm") as file:  # noqa: PTH123 - pathlib is not loaded here
            return int(file.read().split()[1])
    except OSError:
        return 0
