from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from photometer.analysis.flame_tree import FlameNode, flame_tree, frame_changes

BASE = [(("f", "g"), 60.0), (("f",), 30.0), ((), 10.0)]
BRANCH = [(("f", "g"), 60.0), (("f", "slow"), 40.0), (("f",), 30.0), ((), 10.0)]

stacks = st.lists(
    st.tuples(st.lists(st.sampled_from("abcd"), max_size=4).map(tuple), st.floats(0.1, 100.0)), max_size=12
)


def test_one_side() -> None:
    tree = flame_tree(BASE, root="loop")
    assert (tree.name, tree.branch, tree.base, tree.own_branch) == ("loop", 100.0, 0.0, 10.0)
    f = tree.children["f"]
    assert (f.branch, f.own_branch, f.width) == (90.0, 30.0, 90.0)
    assert f.children["g"].branch == 60.0


def test_two_sides_show_what_changed_where() -> None:
    tree = flame_tree(BRANCH, BASE)
    assert tree.change == 40.0
    slow = tree.children["f"].children["slow"]
    assert (slow.base, slow.branch, slow.is_new) == (0.0, 40.0, True)
    assert not tree.children["f"].is_new
    assert tree.children["f"].children["g"].change == 0.0


def test_a_frame_that_is_gone_keeps_its_place() -> None:
    tree = flame_tree([(("new",), 10.0)], [(("old",), 10.0)])
    assert {name: child.width for name, child in tree.children.items()} == {"new": 10.0, "old": 10.0}
    assert tree.width == 20.0


def test_what_grew_most_comes_first() -> None:
    changes = frame_changes(BASE, BRANCH)
    assert [(change.name, change.change) for change in changes] == [("f", 40.0), ("slow", 40.0), ("g", 0.0)]
    assert [change.name for change in changes if change.is_new] == ["slow"]


def test_a_function_that_calls_itself_counts_once() -> None:
    (change,) = frame_changes([], [(("f", "f", "f"), 5.0)])
    assert change.branch == 5.0


def test_stacks_hundreds_deep() -> None:
    tree = flame_tree([(tuple(str(i) for i in range(5000)), 1.0)])
    assert tree.width == 1.0


@given(stacks, stacks)
def test_nothing_is_lost_and_children_fit_into_their_parent(base: list, branch: list) -> None:  # type: ignore[type-arg]
    tree = flame_tree(branch, base)
    assert tree.base == pytest.approx(sum(weight for _, weight in base))
    assert tree.branch == pytest.approx(sum(weight for _, weight in branch))
    nodes: list[FlameNode] = [tree]
    for node in nodes:
        nodes.extend(node.children.values())
        inside = sum(child.width for child in node.children.values())
        assert inside <= node.width * (1 + 1e-9) + 1e-9
        assert node.width >= max(node.base, node.branch) * (1 - 1e-9) - 1e-9
