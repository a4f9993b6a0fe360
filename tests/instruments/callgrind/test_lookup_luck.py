"""Look-ups of names: what depends on hash seeds and addresses is told apart, and nothing is taken away twice."""

from __future__ import annotations

from photometer.instruments.callgrind.allocator import allocator_share, bare_name, is_allocator
from photometer.instruments.callgrind.lookup_luck import LookupLuck, lookup_luck
from tests.instruments.callgrind.test_allocator import profile_of


def test_probing_is_luck_wherever_it_happens() -> None:
    profile = profile_of(
        {"f": 10, "_Py_dict_lookup": 20, "unicodekeys_lookup_unicode": 30, "memcmp": 5},
        [
            *(("f", "_Py_dict_lookup", 2, 55), ("_Py_dict_lookup", "unicodekeys_lookup_unicode", 2, 35)),
            ("unicodekeys_lookup_unicode", "memcmp", 1, 5),
        ],
    )
    assert lookup_luck(profile, bare_name, is_allocator) == LookupLuck(35, 0)
    assert allocator_share(profile).outside_instructions == 30


def test_attributes_of_types_are_luck_too() -> None:
    profile = profile_of(
        {"f": 10, "_PyType_Lookup": 20, "find_name_in_mro": 30, "_Py_dict_lookup": 40},
        [
            *(("f", "_PyType_Lookup", 2, 70), ("_PyType_Lookup", "find_name_in_mro", 1, 50)),
            *(("find_name_in_mro", "_Py_dict_lookup", 1, 20), ("f", "_Py_dict_lookup", 1, 20)),
        ],
    )
    assert lookup_luck(profile, bare_name, is_allocator) == LookupLuck(0, 70)
    assert allocator_share(profile).outside_instructions == 30


def with_misses(misses: int, probes: int) -> int:
    """The figure of a program that looks up 5 names and 9 attributes, with so many misses and so much probing."""
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
    assert with_misses(0, 100) == 1200
    assert with_misses(7, 100) == 1200
    assert with_misses(7, 12_345) == 1200


def test_functions_that_call_each_other_in_a_circle_end() -> None:
    profile = profile_of(
        {"f": 10, "find_name_in_mro": 5, "g": 7, "unicodekeys_lookup_unicode": 3},
        [
            *(("f", "find_name_in_mro", 1, 15), ("find_name_in_mro", "g", 1, 10), ("g", "find_name_in_mro", 1, 5)),
            ("g", "unicodekeys_lookup_unicode", 1, 3),
        ],
    )
    assert lookup_luck(profile, bare_name, is_allocator).probing_instructions == 3
    assert lookup_luck(profile, bare_name, is_allocator).type_lookup_instructions >= 12


def test_comparing_bytes_is_luck_but_not_twice() -> None:
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


def test_other_work_of_the_c_library_is_counted() -> None:
    profile = profile_of({"f": 10, "__memmove_avx_unaligned_erms": 20}, [("f", "__memmove_avx_unaligned_erms", 1, 20)])
    assert allocator_share(profile).outside_instructions == 30
