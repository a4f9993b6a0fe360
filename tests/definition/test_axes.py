"""Axes of a sweep: powers, filters, and what -L says."""

from __future__ import annotations

import pytest

from photometer.definition import GroupedSetup, GroupedStmts, TimerArgs, powers, sweep
from photometer.definition.axes import SweepAxis, parse_axes, parse_axis, points_of, with_axes
from photometer.definition.grouped import GroupedBenchmark
from photometer.definition.suite import Suite
from photometer.errors import DefinitionError


def test_powers_include_both_ends() -> None:
    assert powers(2, 4, 6) == (16, 32, 64)
    with pytest.raises(DefinitionError):
        powers(2, 5, 4)


@pytest.mark.parametrize("where", ["n * m <= 8", lambda n, m: n * m <= 8])
def test_a_sweep_keeps_what_the_filter_lets_through(where: object) -> None:
    points = sweep(n=(1, 4), m=(2, 4), where=where)  # type: ignore[arg-type]
    assert points == [{"n": 1, "m": 2}, {"n": 1, "m": 4}, {"n": 4, "m": 2}]


def test_a_filter_that_leaves_nothing_is_a_mistake() -> None:
    with pytest.raises(DefinitionError, match="no point"):
        sweep(n=(1, 2), where="n > 5")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=1,2,4", (1, 2, 4)),
        ("n=16..128*2", (16, 32, 64, 128)),
        ("n=100..350+100", (100, 200, 300)),
        ("n=2^3..2^5*2,1000", (8, 16, 32, 1000)),
        ("n=0.5..2.0*2", (0.5, 1.0, 2.0)),
        ("n=sum,mean", ("sum", "mean")),
        ("n=True,False", (True, False)),
    ],
)
def test_values_of_an_axis(text: str, values: tuple[object, ...]) -> None:
    assert parse_axis(text) == SweepAxis("n", values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["n", "n=", "=1", "n=1..4", "n=4..1*2", "n=1..9*1", "n=1..9+0", "n=a..b*2", "for=1", "n=1,1"]
)
def test_a_bad_axis_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(DefinitionError, match="-L"):
        parse_axis(text)


def test_an_axis_is_given_once() -> None:
    with pytest.raises(DefinitionError, match="twice"):
        parse_axes(["n=1", "n=2"])


def test_points_are_every_combination() -> None:
    axes = parse_axes(["n=1,2", "m=3"])
    assert points_of(axes) == ((("n", 1), ("m", 3)), (("n", 2), ("m", 3)))
    assert points_of(()) == ((),)


def suite() -> Suite:
    setup = GroupedSetup("x = torch.rand(n)")
    return Suite.from_benchmarks(
        {
            "two": GroupedStmts("x + k", setup=setup, sizes={"n": (1, 2), "k": (3, 4)}),
            "one": GroupedStmts("x + 1", setup=setup, sizes={"n": (5,)}),
            "none": GroupedStmts("torch.empty(1)"),
            "explicit": TimerArgs("pass"),
        }
    )


def sizes_of(changed: Suite, place: int) -> tuple[object, ...]:
    benchmark = changed.entries[place].benchmark
    assert isinstance(benchmark, GroupedBenchmark)
    return benchmark.sizes


def test_values_of_the_command_line_replace_those_of_a_suite() -> None:
    changed = with_axes(suite(), parse_axes(["n=7,8"]))
    assert sizes_of(changed, 0) == tuple((("n", n), ("k", k)) for k in (3, 4) for n in (7, 8))
    assert sizes_of(changed, 1) == ((("n", 7),), (("n", 8),))
    assert changed.entries[2:] == suite().entries[2:]


def test_a_filter_applies_where_all_its_names_are_sizes() -> None:
    changed = with_axes(suite(), (), "n * k < 6")
    assert sizes_of(changed, 0) == ((("n", 1), ("k", 3)), (("n", 1), ("k", 4)))
    assert sizes_of(changed, 1) == ((("n", 5),),)


def test_a_filter_that_no_benchmark_can_apply_is_a_mistake() -> None:
    with pytest.raises(DefinitionError, match="--where reads: z"):
        with_axes(suite(), (), "z > 1")


def test_an_axis_that_no_benchmark_has_is_named_with_those_there_are() -> None:
    with pytest.raises(DefinitionError, match="called m") as error:
        with_axes(suite(), parse_axes(["m=1"]))
    assert error.value.remedy == "Its sizes are: n, k."
