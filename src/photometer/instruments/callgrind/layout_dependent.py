"""The part of a profile that depends on the memory layout: memory allocators, and look-ups of names.

In: a CallgrindProfile. Out: an AllocatorShare, which has what is left without that part. All below a call into an
allocator belongs to it, so the share is the same whether or not the C library has symbols, and with jemalloc or
tcmalloc in its place: only the entry points need names. Callgrind does not replace malloc (Memcheck does),
so these are the real functions of the process.

Where a name is found in a dictionary depends on the hash seed, and which attributes displace each other in the cache
depends on addresses. Over several hash seeds such look-ups were 0.1 to 0.3 % of a statement's instructions, and almost
everything that differed outside the allocators. The rest were comparisons near the end of a page, hash tables whose
keys are addresses (autograd's, pybind11's), and kernels that begin at an aligned address.
"""

from __future__ import annotations

import enum
import re
from collections import defaultdict
from dataclasses import dataclass

from photometer.instruments.callgrind.profile import INSTRUCTIONS, CallgrindProfile, Function

_C_FUNCTIONS = frozenset(
    (
        *("malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "free_sized", "free_aligned_sized"),
        *("memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc", "malloc_usable_size", "malloc_trim"),
        *("__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_reallocarray", "__libc_free", "__libc_cfree"),
        *("__libc_memalign", "__libc_valloc", "__libc_pvalloc", "__posix_memalign", "__malloc_trim"),
    )
)
"""The C allocation functions, by their public names and glibc's own."""

_GLIBC_INTERNALS = frozenset(
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
"""glibc's functions below the public ones: they may be on the stack when counting starts."""

_PYTHON_INTERNALS = frozenset(
    (
        *("pymalloc_alloc", "pymalloc_free", "pymalloc_realloc", "allocate_from_new_pool", "new_arena"),
        *("insert_to_usedpool", "insert_to_freepool", "arena_map_mark_used", "arena_map_is_used", "address_in_range"),
    )
)

_TCACHE = re.compile(r"_{0,3}tcache_\w+$")
_PYTHON_FUNCTION = re.compile(
    r"_?Py(?:Object|Mem)_(?:Raw|Mi|Debug|DebugRaw|Arena)?(?:Malloc|Calloc|Realloc|Alloc|Free)$"
)
_CPP_OPERATOR = re.compile(r"operator (?:new|delete)(?:\[\])?\(")
_VERSION = re.compile(r"@@?[A-Za-z_][\w.]*$")
_RECURSION = re.compile(r"'\d+$")
_CLONE = re.compile(r"(?:\.(?:constprop|isra|part|cold|lto_priv)(?:\.\d+)*)+$")

_PROBING = frozenset(
    (
        # CPython 3.11 and later.
        *("unicodekeys_lookup_unicode", "unicodekeys_lookup_generic", "unicodekeys_lookup_split"),
        *("unicodekeys_lookup_unicode_threadsafe",),
        # CPython 3.10; torch's `denoise` removes the second.
        *("lookdict_unicode_nodummy", "lookdict_unicode", "lookdict_split"),
        # Between these and a type's look-up: how often they run depends on how often its cache misses.
        *("_Py_dict_lookup", "_PyDict_GetItem_KnownHash", "PyErr_Occurred"),
        *("find_empty_slot", "build_indices_unicode", "build_indices_generic"),
    )
)
"""CPython's search for a string, or a free place, among a dictionary's keys. The functions around it are counted."""

_TYPE_LOOKUP = frozenset(
    (
        *("_PyType_Lookup", "_PyType_LookupRef", "_PyType_LookupStackRefAndVersion"),
        *("find_name_in_mro", "assign_version_tag"),
    )
)
"""CPython's search for an attribute of a type: in its method cache, then in the type and its bases.

The cache is indexed by the address of the name: in one of four layouts of a Conv2d the misses were 0.8 % of the
instructions, in the others there were none. Hits are left out as well, because Callgrind cannot distinguish them.
"""

_COMPARING = re.compile(r"__w?(?:mem|str|cs)(?:cmp|cmpeq|ncmp|casecmp|ncasecmp|chr|rchr|chrnul|len|nlen)_\w+$")
"""glibc's vector code that compares or searches bytes: it takes another path if a read would cross the end of a page.

Whether it would depends on the address: one call of memcmp in `x * w` took 18 or 24 instructions.
"""


_BY_ADDRESS = re.compile(
    # Autograd keeps the nodes of a graph by their addresses; its own look-ups are inlined into these two.
    r"torch::autograd::Engine::(?:compute_dependencies|evaluate_function)\("
    # Any hash table of C++ whose keys are pointers, pybind11's of its instances and types among them.
    r"|std::_Hashtable<[^,<]*\*(?: const)?,|pybind11::detail::all_type_info_get_cache\("
    # MKL's vector maths: elements before the first aligned one, and after the last, take another path.
    r"|^mkl_vml_kernel_|^v[sd]\w+_cout_rare$"
)
"""Functions whose own instructions depend on addresses; what they call does not.

In one of two layouts of a backward pass the engine's hash tables had more collisions: 0.03 % of the instructions.
"""


@dataclass(frozen=True)
class LookupCosts:
    """Own instructions of probing, of looking up types' attributes, of comparing, and of code that uses addresses."""

    probing_instructions: int
    type_lookup_instructions: int
    comparing_instructions: int = 0
    by_address_instructions: int = 0

    @property
    def instructions(self) -> int:
        lookups = self.probing_instructions + self.type_lookup_instructions
        return lookups + self.comparing_instructions + self.by_address_instructions


@dataclass(frozen=True)
class AllocatorShare:
    """Instructions below the `calls` of the allocators, those of look-ups, and all others."""

    instructions: int
    lookups: LookupCosts
    outside_instructions: int
    calls: int


def is_allocator(name: str) -> bool:
    """Return whether a function is an allocator's: C's, C++'s or Python's, in any library; not in a C++ namespace."""
    bare = bare_name(name)
    return (
        bare in _C_FUNCTIONS
        or bare in _GLIBC_INTERNALS
        or bare in _PYTHON_INTERNALS
        or any(pattern.match(bare) for pattern in (_CPP_OPERATOR, _PYTHON_FUNCTION, _TCACHE))
    )


def is_layout_dependent(name: str) -> bool:
    """Return whether a function's own instructions depend on addresses: those of allocators and look-ups do."""
    return is_dependent_below(name) or _BY_ADDRESS.search(bare_name(name)) is not None


def is_dependent_below(name: str) -> bool:
    """Return whether the instructions of its callees depend on addresses, too."""
    return is_allocator(name) or _kind_of(bare_name(name)) not in (None, _Kind.BY_ADDRESS)


def bare_name(name: str) -> str:
    """Return a function's name without suffixes of linker, compiler and Callgrind: `@@GLIBC_2.2.5`, `.part.0`, `'2`."""
    return _VERSION.sub("", _CLONE.sub("", _RECURSION.sub("", name)))


def allocator_share(profile: CallgrindProfile) -> AllocatorShare:
    """Split a profile at the calls into the allocators; the rest is without the cost of look-ups, too."""
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
    # An allocator's function without a caller was already running when counting began.
    for cost in profile.self_costs:
        if cost.function in allocators and cost.function not in called:
            instructions += cost.costs[index]
    lookups = lookup_costs(profile)
    return AllocatorShare(instructions, lookups, profile.total() - instructions - lookups.instructions, calls)


def lookup_costs(profile: CallgrindProfile) -> LookupCosts:
    """Return the instructions of look-ups outside the allocators.

    These are their own, and those of functions that only they call.
    """
    index = profile.event_index(INSTRUCTIONS)
    kinds = _kinds(profile)
    costs = dict.fromkeys(_Kind, 0)
    for cost in profile.self_costs:
        if cost.function in kinds:
            costs[kinds[cost.function]] += cost.costs[index]
    for call in profile.calls:
        # What an allocator calls is already in the allocator's share.
        if call.callee in kinds and is_allocator(call.caller.name):
            costs[kinds[call.callee]] -= call.costs[index]
    return LookupCosts(*costs.values())


class _Kind(enum.Enum):
    """In the order of the fields of LookupCosts."""

    PROBING = enum.auto()
    TYPE_LOOKUP = enum.auto()
    COMPARING = enum.auto()
    BY_ADDRESS = enum.auto()


def _kind_of(bare: str) -> _Kind | None:
    if bare in _PROBING:
        return _Kind.PROBING
    if bare in _TYPE_LOOKUP:
        return _Kind.TYPE_LOOKUP
    if _COMPARING.match(bare):
        return _Kind.COMPARING
    return _Kind.BY_ADDRESS if _BY_ADDRESS.search(bare) else None


def _kinds(profile: CallgrindProfile) -> dict[Function, _Kind]:
    """Return the look-ups, and the functions that only look-ups call."""
    kinds = {
        function: kind for function in _functions(profile) if (kind := _kind_of(bare_name(function.name))) is not None
    }
    callers: defaultdict[Function, set[Function]] = defaultdict(set)
    for call in profile.calls:
        if call.callee not in kinds and call.caller != call.callee and not is_allocator(call.callee.name):
            callers[call.callee].add(call.caller)
    while True:
        below = {
            function: kinds[min(by, key=lambda caller: caller.name)]
            for function, by in callers.items()
            if function not in kinds and all(kinds.get(caller) not in (None, _Kind.BY_ADDRESS) for caller in by)
        }
        if not below:
            return kinds
        kinds.update(below)


def _functions(profile: CallgrindProfile) -> set[Function]:
    functions = {cost.function for cost in profile.self_costs}
    for call in profile.calls:
        functions.add(call.caller)
        functions.add(call.callee)
    return functions
