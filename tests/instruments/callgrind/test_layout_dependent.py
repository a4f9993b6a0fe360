"""Allocators and look-ups are separated from the rest, and nothing is taken away twice."""

from __future__ import annotations

import pytest

from photometer.instruments.callgrind.layout_dependent import (
    LookupCosts,
    allocator_share,
    bare_name,
    is_allocator,
    is_dependent_below,
    is_layout_dependent,
    lookup_costs,
)
from tests.instruments.callgrind import GOLDEN, parse_profile, profile_of


@pytest.mark.parametrize(
    "name",
    [
        *("malloc", "free", "calloc", "realloc", "posix_memalign", "aligned_alloc", "__libc_memalign", "malloc'2"),
        *("_int_malloc", "_int_free", "_mid_memalign.constprop.0", "unlink_chunk.constprop.0", "malloc_consolidate"),
        *("sysmalloc", "systrim.constprop.0", "tcache_init.part.0", "malloc@@GLIBC_2.2.5", "_int_free.part.0.cold"),
        *("operator new(unsigned long)", "operator delete(void*, unsigned long)", "operator new[](unsigned long)"),
        *("operator delete[](void*)", "operator new(unsigned long, std::align_val_t)"),
        *("_PyObject_Malloc", "PyObject_Free", "PyMem_RawMalloc", "_PyMem_RawFree", "PyMem_Calloc", "new_arena"),
    ],
)
def test_functions_of_an_allocator(name: str) -> None:
    assert is_allocator(name)


@pytest.mark.parametrize(
    "name",
    [
        *("dnnl::impl::malloc(unsigned long, int)", "dnnl::impl::free(void*)", "c10::alloc_cpu(unsigned long)"),
        *(
            "c10::DefaultCPUAllocator::allocate(unsigned long)",
            "PyType_GenericAlloc",
            "tupledealloc",
            "_PyObject_GC_New",
        ),
        *(
            "at::operator new_thing(int)",
            "std::allocator<int>::allocate(unsigned long)",
            "memset",
            "freeze",
            "mallocate",
        ),
        *("torch::operator==(int, int)", "tcache", "PyObject_Call", "subtype_dealloc", "0x0000000000096120"),
    ],
)
def test_namesakes_and_callers_of_an_allocator_are_outside(name: str) -> None:
    assert not is_allocator(name)


def test_bare_names() -> None:
    assert bare_name("pthread_mutex_lock@@GLIBC_2.2.5") == "pthread_mutex_lock"
    assert bare_name("f.isra.0.constprop.3'2") == "f"
    assert bare_name("operator new(unsigned long)") == "operator new(unsigned long)"


def test_the_share_is_everything_below_the_entry_points() -> None:
    share = allocator_share(parse_profile(GOLDEN / "plain.out"))
    # 20 calloc, 20 realloc and 20 free with their inclusive costs 4056 + 2660 + 3080, memset in calloc included.
    assert (share.calls, share.instructions) == (60, 9796)
    assert share.outside_instructions == 11471 - 9796


def test_the_share_is_the_same_without_the_symbols_of_the_c_library() -> None:
    with_symbols = allocator_share(parse_profile(GOLDEN / "plain.out"))
    bare = parse_profile(GOLDEN / "no_symbols.out")
    assert not any(cost.function.name == "_int_free" for cost in bare.self_costs)
    assert allocator_share(bare) == with_symbols


def test_calls_inside_the_allocator_count_once() -> None:
    new, delete = "operator new(unsigned long)", "operator delete(void*)"
    profile = profile_of(
        {"f": 100, new: 7, "malloc": 20, "_int_malloc": 30, delete: 2, "free": 11, "brk": 5},
        [
            *(
                ("f", new, 4, 62),
                (new, "malloc", 4, 55),
                ("malloc", "_int_malloc", 1, 35),
                ("_int_malloc", "brk", 1, 5),
            ),
            *(("f", delete, 3, 13), (delete, "free", 3, 11)),
        ],
    )
    share = allocator_share(profile)
    assert (share.calls, share.instructions, share.outside_instructions) == (7, 75, 100)


def test_an_allocator_that_was_running_when_counting_began_is_inside() -> None:
    share = allocator_share(profile_of({"f": 10, "free": 3}, []))
    assert (share.calls, share.instructions, share.outside_instructions) == (0, 3, 10)


def test_probing_is_left_out_wherever_it_happens() -> None:
    profile = profile_of(
        {"f": 10, "_Py_dict_lookup": 20, "unicodekeys_lookup_unicode": 30, "memcmp": 5},
        [
            *(("f", "_Py_dict_lookup", 2, 55), ("_Py_dict_lookup", "unicodekeys_lookup_unicode", 2, 35)),
            ("unicodekeys_lookup_unicode", "memcmp", 1, 5),
        ],
    )
    # What nothing else calls is left out with it.
    assert lookup_costs(profile) == LookupCosts(55, 0)
    assert allocator_share(profile).outside_instructions == 10


def test_attributes_of_types_are_left_out_too() -> None:
    profile = profile_of(
        {"f": 10, "_PyType_Lookup": 20, "find_name_in_mro": 30, "_Py_dict_lookup": 40},
        [
            *(("f", "_PyType_Lookup", 2, 70), ("_PyType_Lookup", "find_name_in_mro", 1, 50)),
            *(("find_name_in_mro", "_Py_dict_lookup", 1, 20), ("f", "_Py_dict_lookup", 1, 20)),
        ],
    )
    assert lookup_costs(profile) == LookupCosts(40, 50)
    assert allocator_share(profile).outside_instructions == 10


def with_misses(misses: int, probes: int) -> int:
    """Return the figure of a program that looks up 5 names and 9 attributes, with this many misses and probes."""
    lookups = 5 + 3 * misses
    below = 3 * misses * 40 + probes // 2
    profile = profile_of(
        {
            **{"f": 1000, "_PyType_Lookup": 90 + 7 * misses, "find_name_in_mro.isra.0": 30 * misses},
            **{"_Py_dict_lookup": 40 * lookups, "unicodekeys_lookup_unicode": probes},
        },
        [
            ("f", "_PyType_Lookup", 9, 90 + 7 * misses + 30 * misses + below),
            ("_PyType_Lookup", "find_name_in_mro.isra.0", misses, 30 * misses + below),
            ("find_name_in_mro.isra.0", "_Py_dict_lookup", 3 * misses, below),
            ("f", "_Py_dict_lookup", 5, 200 + probes - probes // 2),
            ("_Py_dict_lookup", "unicodekeys_lookup_unicode", lookups, probes),
        ],
    )
    return allocator_share(profile).outside_instructions


def test_neither_the_number_of_misses_nor_the_probing_moves_the_figure() -> None:
    assert with_misses(0, 100) == 1000
    assert with_misses(7, 100) == 1000
    assert with_misses(7, 12_345) == 1000


def test_functions_that_call_each_other_in_a_circle_end() -> None:
    profile = profile_of(
        {"f": 10, "find_name_in_mro": 5, "g": 7, "unicodekeys_lookup_unicode": 3},
        [
            *(("f", "find_name_in_mro", 1, 15), ("find_name_in_mro", "g", 1, 10), ("g", "find_name_in_mro", 1, 5)),
            ("g", "unicodekeys_lookup_unicode", 1, 3),
        ],
    )
    assert lookup_costs(profile) == LookupCosts(3, 12)


def test_comparing_bytes_is_left_out_but_not_twice() -> None:
    def figure(extra: int) -> int:
        profile = profile_of(
            {"f": 100, "__memcmp_avx2_movbe": 36 + 3 * extra, "unicodekeys_lookup_unicode": 30, "free": 10},
            [
                ("f", "__memcmp_avx2_movbe", 1, 12 + extra),
                *(("f", "unicodekeys_lookup_unicode", 1, 42 + extra), ("f", "free", 1, 22 + extra)),
                ("unicodekeys_lookup_unicode", "__memcmp_avx2_movbe", 1, 12 + extra),
                ("free", "__memcmp_avx2_movbe", 1, 12 + extra),
            ],
        )
        return allocator_share(profile).outside_instructions

    assert figure(0) == figure(6) == 100


@pytest.mark.parametrize(
    "name",
    [
        "torch::autograd::Engine::compute_dependencies(torch::autograd::Node*, torch::autograd::GraphTask&)",
        "std::_Hashtable<torch::autograd::Node*, torch::autograd::Node*, std::allocator<int> >::find(int)",
        "std::_Hashtable<void const*, std::pair<void const* const, int>, std::allocator<int> >::_M_insert(int)",
        "mkl_vml_kernel_sSqrt_L9HAynn",
    ],
)
def test_what_goes_by_addresses_is_left_out_but_not_what_it_calls(name: str) -> None:
    profile = profile_of({"f": 10, name: 20, "kernel": 300}, [("f", name, 1, 320), (name, "kernel", 1, 300)])
    assert lookup_costs(profile) == LookupCosts(0, 0, 0, 20)
    assert allocator_share(profile).outside_instructions == 310
    assert is_layout_dependent(name)
    assert not is_dependent_below(name)


def test_hash_tables_of_names_and_functions_with_pointers_are_counted() -> None:
    assert not is_layout_dependent("std::_Hashtable<std::__cxx11::basic_string<char>, std::pair<int*, int> >::find()")
    assert not is_layout_dependent("at::native::mul(at::Tensor const*, int)")


def test_other_work_of_the_c_library_is_counted() -> None:
    profile = profile_of({"f": 10, "__memmove_avx_unaligned_erms": 20}, [("f", "__memmove_avx_unaligned_erms", 1, 20)])
    assert allocator_share(profile).outside_instructions == 30
