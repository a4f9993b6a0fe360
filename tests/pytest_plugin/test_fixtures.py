"""The fixtures by themselves: calls, statements, the figures that pytest-benchmark's users read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from photometer.pytest_plugin.fixtures import (
    AlreadyUsed,
    Arguments,
    Bench,
    BenchmarkFixture,
    Call,
    Once,
    PhotometerFixture,
    Stats,
    statement_of,
)
from photometer.pytest_plugin.options import Asked


def bench() -> Bench:
    node: Any = SimpleNamespace(name="test_x[2]", nodeid="a.py::test_x[2]", callspec=SimpleNamespace(id="2", params={}))
    return Bench(node, Asked(group="sums"), Once())


def test_a_call_becomes_a_plain_statement() -> None:
    statement = statement_of(Call(max, Arguments((3, 5), {"key": abs})))
    assert statement.text == "photometer_function(photometer_arg_0, photometer_arg_1, key=photometer_kwarg_key)"
    assert eval(statement.text, dict(statement.names)) == 5


def test_the_arguments_of_a_setup_are_new_in_every_run() -> None:
    made: list[list[int]] = []

    def setup() -> Any:
        made.append([3, 1])
        return (made[-1],), {}

    call = Call(list.sort, setup=setup, teardown=lambda numbers: numbers.append(9))
    call.run_once()
    statement = statement_of(call)
    exec(statement.text, dict(statement.names))
    assert made == [[1, 3, 9], [1, 3]]


def test_a_setup_may_make_no_arguments() -> None:
    seen: list[int] = []
    call = Call(seen.append, Arguments((1,)), setup=lambda: None)
    call.run_once()
    assert seen == [1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"iterations": 0},
        {"rounds": 0},
        {"rounds": "3"},
        {"iterations": 1.5},
        {"warmup_rounds": -1},
        {"setup": lambda: None, "iterations": 2},
    ],
)
def test_rounds_that_cannot_be_meant(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"iterations|rounds"):
        Call(max, **wrong)


def test_arguments_and_a_setup_that_makes_them_are_too_many() -> None:
    with pytest.raises(TypeError, match="use one or the other"):
        Call(max, Arguments((1,)), setup=lambda: ((2,), {})).run_once()
    with pytest.raises(TypeError, match="must be a function"):
        Call(3)  # type: ignore[arg-type]


def test_a_test_measures_one_thing() -> None:
    one = bench()
    assert PhotometerFixture(one)(max, 1, 2) == 2
    with pytest.raises(AlreadyUsed, match="by photometer"):
        BenchmarkFixture(one)(max, 1, 2)


def test_the_benchmark_fixture_has_what_its_users_read() -> None:
    fixture = BenchmarkFixture(bench())
    assert (fixture.name, fixture.fullname, fixture.param, fixture.group) == (
        "test_x[2]",
        "a.py::test_x[2]",
        "2",
        "sums",
    )
    assert fixture.disabled
    assert fixture.stats is None
    fixture.group = "others"
    fixture.extra_info["size"] = 3
    fixture.extra_info = {**fixture.extra_info, "kind": "small"}
    assert (fixture.group, fixture.extra_info) == ("others", {"size": 3, "kind": "small"})
    assert fixture.pedantic(max, args=(1, 2), kwargs={"key": abs}, rounds=3, iterations=2) == 2


def test_off_there_is_no_verdict() -> None:
    with pytest.raises(pytest.skip.Exception):
        PhotometerFixture(bench()).ab(max, min)


def test_stats_by_name() -> None:
    stats = Stats([1.0, 2.0, 3.0, 6.0], 10)
    assert (stats.min, stats.max, stats.mean, stats.median, stats.rounds, stats.total) == (1.0, 6.0, 3.0, 2.5, 4, 12.0)
    assert stats["mean"] == stats.stats.mean
    assert stats.ops == pytest.approx(1 / 3)
    assert set(stats.as_dict()) == set(Stats.FIELDS)
    with pytest.raises(KeyError):
        stats["fastest"]
    assert Stats([2.0], 1).stddev == 0.0
    odd = Stats([1.0, 1.1, 1.2, 1.3, 9.0], 1)
    assert (odd.ld15iqr, odd.hd15iqr, odd["outliers"]) == (1.0, 9.0, "1;0")
    far = Stats([1.0, 1.1, 1.2, 1.1, 1.0, 1.2, 9.0], 1)
    assert (far.hd15iqr, far.iqr_outliers) == (1.2, 1)
    assert Stats([0.1] * 7, 1).outliers == "0;0"
