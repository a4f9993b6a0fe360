"""Titles of work orders with what they differ in, and the tree of their labels."""

from __future__ import annotations

from photometer.definition import GroupedStmts, TimerArgs
from photometer.plan import materialize, order_tree
from photometer.plan.work_order import short_titles


def test_labels_alone_if_nothing_else_differs() -> None:
    plan = materialize({"a": {"b": TimerArgs("1"), "c": TimerArgs("2")}})
    assert list(short_titles(plan.orders).values()) == ["a › b", "a › c"]


def test_only_what_differs_is_in_the_title() -> None:
    plan = materialize({"a": GroupedStmts("y = 1", num_threads=(1, 2))})
    assert list(short_titles(plan.orders).values()) == ["a [1 thread]", "a [2 threads]"]


def test_the_tree_of_labels_counts_its_variants() -> None:
    one = GroupedStmts("f()", "f();")
    plan = materialize({"a": {None: one, "b": one}, "c": GroupedStmts("g()"), ("a", "d"): one})
    tree = order_tree("suite", plan)
    assert (tree.name, tree.variants, tree.orders) == ("suite", 7, ())
    assert [(child.name, child.variants) for child in tree.children] == [("a", 6), ("c", 1)]
    a = tree.children[0]
    assert len(a.orders) == 2
    assert [(child.name, child.variants) for child in a.children] == [("b", 2), ("d", 2)]


def test_orders_unpack_to_label_auto_labels_and_timer_args() -> None:
    from photometer.definition import GroupedSetup, GroupedStmts
    from photometer.plan.expand import materialize

    plan = materialize({"add": GroupedStmts("x + 1", "x + 1;", setup=GroupedSetup("x = 1", "int x = 1;"))})
    assert [timer_args.stmt for label, auto_labels, timer_args in plan] == ["x + 1", "x + 1;"]
    for order in plan:
        label, auto_labels, timer_args = order
        assert (label, auto_labels, timer_args) == (order.label, order.auto, order.args)
        assert (order.auto_labels, order.timer_args) == (auto_labels, timer_args)
    assert plan[0] is plan.orders[0]
