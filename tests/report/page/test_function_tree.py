from __future__ import annotations

from photometer.report.page.function_tree import tree_of_functions, tree_of_stacks

BASE = [(("main", "f"), 100), (("main", "g"), 50), (("main",), 10)]
BRANCH = [(("main", "f"), 100), (("main", "g"), 90), (("main",), 10)]


def test_a_tree_adds_up_from_the_leaves() -> None:
    tree = tree_of_stacks(BASE)
    assert tree is not None
    main = tree.children["main"]
    assert (tree.base, main.base, main.children["f"].base) == (160, 160, 100)
    assert list(main.children) == ["f", "g"]


def test_two_sides_point_at_the_function_that_changed_and_not_at_its_callers() -> None:
    tree = tree_of_stacks(BASE, BRANCH)
    assert tree is not None
    main = tree.children["main"]
    assert (main.base, main.branch, main.own_change) == (160, 200, 0)
    assert main.children["g"].own_change == 40
    assert main.children["f"].own_change == 0


def test_what_is_too_thin_to_see_is_left_out_and_its_caller_keeps_its_width() -> None:
    tree = tree_of_stacks([(("main", "big"), 100_000), (("main", "tiny"), 1)])
    assert tree is not None
    assert list(tree.children["main"].children) == ["big"]
    assert tree.base == 100_001


def test_functions_without_stacks_are_shown_below_their_library() -> None:
    tree = tree_of_functions([(70, "a.c:f [/usr/lib/libc.so.6]"), (20, "b.c:g [libtorch.so]"), (5, "h"), (-3, "i [x]")])
    assert tree is not None
    assert {name: frame.base for name, frame in tree.children.items()} == {
        "libc.so.6": 70,
        "libtorch.so": 20,
        "other": 5,
    }
    assert list(tree.children["libc.so.6"].children) == ["a.c:f"]


def test_functions_that_were_not_kept_have_a_frame_together() -> None:
    tree = tree_of_functions([(70, "f [a.so]")], total=100)
    assert tree is not None
    assert (tree.base, tree.children["all other functions"].base) == (100, 30)


def test_nothing_to_draw_is_none() -> None:
    assert tree_of_stacks([]) is None
    assert tree_of_functions([]) is None


def test_a_deep_recursion_is_no_problem() -> None:
    assert tree_of_stacks([(tuple(f"f{i}" for i in range(500)), 10)]) is not None
