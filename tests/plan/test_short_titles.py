"""Titles with what tells the orders of a plan apart, and nothing else."""

from __future__ import annotations

from photometer.definition import GroupedStmts, TimerArgs
from photometer.plan import materialize
from photometer.plan.short_titles import short_titles


def test_labels_alone_where_nothing_else_differs() -> None:
    plan = materialize({"a": {"b": TimerArgs("1"), "c": TimerArgs("2")}})
    assert list(short_titles(plan.orders).values()) == ["a › b", "a › c"]


def test_only_what_differs_is_told() -> None:
    plan = materialize({"a": GroupedStmts("y = 1", num_threads=(1, 2))})
    assert list(short_titles(plan.orders).values()) == ["a [1 thread]", "a [2 threads]"]
