from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, strategies as st

from photometer.instruments.callgrind.call_tree import folded_stacks, frame_name
from photometer.instruments.callgrind.profile import Function
from tests.instruments.callgrind import GOLDEN, parse_profile, profile_of


def test_a_tree_is_given_back_as_it_is() -> None:
    profile = profile_of({"main": 1, "f": 20, "g": 300}, [("main", "f", 2, 320), ("f", "g", 5, 300)])
    assert folded_stacks(profile) == [(("main", "f", "g"), 300), (("main", "f"), 20), (("main",), 1)]


def test_a_function_with_two_callers_is_divided_by_the_cost_of_the_calls() -> None:
    profile = profile_of(
        {"main": 0, "a": 10, "b": 10, "g": 40, "h": 60},
        [("main", "a", 1, 35), ("main", "b", 1, 85), ("a", "g", 1, 25), ("b", "g", 1, 75), ("g", "h", 2, 60)],
    )
    assert dict(folded_stacks(profile)) == {
        ("main", "a"): 10,
        ("main", "b"): 10,
        ("main", "a", "g"): 10,
        ("main", "b", "g"): 30,
        ("main", "a", "g", "h"): 15,
        ("main", "b", "g", "h"): 45,
    }


def test_the_interpreter_calling_itself_through_c_is_opened_once() -> None:
    loop, inner = "_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault'2"
    profile = profile_of(
        {loop: 100, "call": 10, inner: 200, "add": 50},
        [(loop, "call", 1, 260), ("call", inner, 3, 900), (inner, "call", 2, 500), (inner, "add", 5, 50)],
    )
    assert dict(folded_stacks(profile)) == {
        (loop,): 100,
        (loop, "call"): 10,
        (loop, "call", loop): 200,
        (loop, "call", loop, "add"): 50,
    }


def test_a_circle_that_nobody_enters_still_keeps_its_cost() -> None:
    profile = profile_of({"ping": 5, "pong": 7}, [("ping", "pong", 1, 12), ("pong", "ping", 1, 12)])
    assert sum(count for _, count in folded_stacks(profile)) == 12


@pytest.mark.parametrize("name", ["plain.out", "combined.out", "simulated.out", "no_symbols.out"])
def test_real_profiles_keep_every_functions_own_cost(name: str) -> None:
    profile = parse_profile(GOLDEN / name)
    own: defaultdict[str, int] = defaultdict(int)
    for cost in profile.self_costs:
        own[frame_name(cost.function)] += cost.costs[0]
    leaves: defaultdict[str, int] = defaultdict(int)
    stacks = folded_stacks(profile, smallest_share=0)
    for stack, count in stacks:
        leaves[stack[-1]] += count
    assert sum(leaves.values()) == profile.total()
    # Each stack is rounded to a whole instruction.
    for function in own:
        assert abs(leaves[function] - own[function]) <= sum(stack[-1] == function for stack, _ in stacks)


def test_thin_frames_are_not_unfolded_but_counted() -> None:
    profile = profile_of({"main": 1000, "f": 1, "g": 1}, [("main", "f", 1, 2), ("f", "g", 1, 1)])
    assert dict(folded_stacks(profile, smallest_share=0.01)) == {("main",): 1000, ("main", "f"): 2}


names = st.sampled_from("abcdefg")


@given(
    own=st.dictionaries(names, st.integers(0, 10**6), min_size=1),
    calls=st.lists(st.tuples(names, names, st.integers(0, 5), st.integers(0, 10**6)), max_size=20),
)
def test_whatever_the_graph_the_stacks_sum_to_the_total(
    own: dict[str, int], calls: list[tuple[str, str, int, int]]
) -> None:
    profile = profile_of(own, calls)
    stacks = folded_stacks(profile)
    assert sum(count for _, count in stacks) == profile.total()
    assert all(len(set(stack)) == len(stack) for stack, _ in stacks)


def test_frames_without_a_name_tell_their_library() -> None:
    assert frame_name(Function("/usr/lib/libc.so.6", "???", "0x00000000000961af")) == "0x00000000000961af [libc.so.6]"
    assert frame_name(Function("???", "???", "0x04936718")) == "0x04936718"
    assert frame_name(Function("/lib/a.so", "a.c", "f'2")) == "f"
