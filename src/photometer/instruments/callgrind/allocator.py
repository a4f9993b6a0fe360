"""What the memory allocators did: their share of the instructions, and how often they were called.

In comes a CallgrindProfile; out goes an AllocatorShare. The share is everything below a call into an allocator, so it
is the same whether or not the C library has symbols, and for jemalloc or tcmalloc in its place: only the doors need
names. Callgrind does not replace malloc (Memcheck does), so these are the real functions of the process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from photometer.instruments.callgrind.lookup_luck import LookupLuck, lookup_luck
from photometer.instruments.callgrind.profile import INSTRUCTIONS, CallgrindProfile, Function

_C_DOORS = frozenset(
    (
        *("malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "free_sized", "free_aligned_sized"),
        *("memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc", "malloc_usable_size", "malloc_trim"),
        *("__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_reallocarray", "__libc_free", "__libc_cfree"),
        *("__libc_memalign", "__libc_valloc", "__libc_pvalloc", "__posix_memalign", "__malloc_trim"),
    )
)
"""The C allocation functions, under their public names and glibc's own."""

_GLIBC_ROOMS = frozenset(
    (
        *("_int_malloc", "_int_free", "_int_realloc", "_int_memalign", "_mid_memalign", "_int_free_chunk"),
        *("_int_free_merge_chunk", "_int_free_create_chunk", "_int_free_maybe_consolidate", "_int_free_maybe_trim"),
        *("malloc_consolidate", "unlink_chunk", "sysmalloc", "sysmalloc_mmap", "sysmalloc_mmap_fallback", "systrim"),
        *("munmap_chunk", "mremap_chunk", "mtrim", "alloc_perturb", "free_perturb", "ptmalloc_init", "malloc_printerr"),
        *("arena_get2", "arena_get_retry", "get_free_list", "reused_arena", "_int_new_arena", "detach_arena"),
        *("new_heap", "alloc_new_heap", "grow_heap", "shrink_heap", "heap_trim", "delete_heap", "checked_request2size"),
        *("__libc_malloc2", "__libc_calloc2", "__libc_malloc_impl", "__libc_free_impl", "__default_morecore"),
        *("__glibc_morecore", "__malloc_arena_thread_freeres", "musable", "largebin_index"),
    )
)
"""glibc's functions behind the doors: named too, for they may stand on the stack when counting starts."""

_PYTHON_ROOMS = frozenset(
    (
        *("pymalloc_alloc", "pymalloc_free", "pymalloc_realloc", "allocate_from_new_pool", "new_arena"),
        *("insert_to_usedpool", "insert_to_freepool", "arena_map_mark_used", "arena_map_is_used", "address_in_range"),
    )
)

_TCACHE = re.compile(r"_{0,3}tcache_\w+$")
_PYTHON_DOOR = re.compile(r"_?Py(?:Object|Mem)_(?:Raw|Mi|Debug|DebugRaw|Arena)?(?:Malloc|Calloc|Realloc|Alloc|Free)$")
_CPP_OPERATOR = re.compile(r"operator (?:new|delete)(?:\[\])?\(")
_VERSION = re.compile(r"@@?[A-Za-z_][\w.]*$")
_RECURSION = re.compile(r"'\d+$")
_CLONE = re.compile(r"(?:\.(?:constprop|isra|part|cold|lto_priv)(?:\.\d+)*)+$")


@dataclass(frozen=True)
class AllocatorShare:
    """Instructions below the `calls` of the allocators, those of look-ups that are luck, and all that is left."""

    instructions: int
    lookup_luck: LookupLuck
    outside_instructions: int
    calls: int


def is_allocator(name: str) -> bool:
    """Whether a function is an allocator's: C's, C++'s or Python's, in any library, but no namesake in a namespace."""
    bare = bare_name(name)
    return (
        bare in _C_DOORS
        or bare in _GLIBC_ROOMS
        or bare in _PYTHON_ROOMS
        or any(pattern.match(bare) for pattern in (_CPP_OPERATOR, _PYTHON_DOOR, _TCACHE))
    )


def bare_name(name: str) -> str:
    """A function's name without what the linker, the compiler and Callgrind add: `@@GLIBC_2.2.5`, `.part.0`, `'2`."""
    return _VERSION.sub("", _CLONE.sub("", _RECURSION.sub("", name)))


def allocator_share(profile: CallgrindProfile) -> AllocatorShare:
    """Splits a profile at the calls into the allocators; what is left is without the luck of look-ups, too."""
    index = profile.event_index(INSTRUCTIONS)
    allocators = {function for function in _functions(profile) if is_allocator(function.name)}
    instructions = calls = 0
    called: set[Function] = set()
    for call in profile.calls:
        if call.callee in allocators:
            called.add(call.callee)
            if call.caller not in allocators:
                instructions += call.costs[index]
                calls += call.count
    # A function of the allocator that nobody called was running when counting began.
    for cost in profile.self_costs:
        if cost.function in allocators and cost.function not in called:
            instructions += cost.costs[index]
    luck = lookup_luck(profile, bare_name, is_allocator)
    return AllocatorShare(instructions, luck, profile.total() - instructions - luck.instructions, calls)


def _functions(profile: CallgrindProfile) -> set[Function]:
    functions = {cost.function for cost in profile.self_costs}
    for call in profile.calls:
        functions.add(call.caller)
        functions.add(call.callee)
    return functions
