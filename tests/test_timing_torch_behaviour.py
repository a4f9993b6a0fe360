"""What PyTorch's own tests of torch.utils.benchmark ask for, asked of torch's classes and of ours, side by side.

A made-up clock gives both the same costs and noise. Their blocks differ in size, so figures agree within the noise.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch.utils.benchmark as torch_benchmark

import photometer

COSTS = {"nothing()": 8e-9, "cheap()": 4e-6, "dear()": 2e-5, "for _ in x:\n    f(_)": 1e-5}
CLOCK_COST = 1e-7
NOISE = 0.05


class MadeUpLoop:
    """timeit.Timer's constructor and method, with costs by the statement and noise that repeats."""

    def __init__(self, stmt: str, setup: str, timer: Any, globals: dict[str, Any]) -> None:
        self._noise = random.Random(1)
        self._seconds = COSTS.get(stmt) or float(stmt.split("#")[1])

    def timeit(self, number: int) -> float:
        cost = self._noise.gauss(self._seconds * number, NOISE * self._seconds * number)
        return max(cost, 0.0) + 2 * CLOCK_COST


class Ours(photometer.Timer):
    _timer_cls = MadeUpLoop


class Theirs(torch_benchmark.Timer):
    _timer_cls = MadeUpLoop


@pytest.mark.parametrize("stmt", COSTS)
def test_the_same_figures_from_the_same_clock(stmt: str) -> None:
    measure: Callable[[Any], Any]
    for measure in (
        lambda timer: timer.blocked_autorange(min_run_time=5),
        lambda timer: timer.adaptive_autorange(threshold=0.1),
        lambda timer: timer.timeit(10_000),
    ):
        ours, theirs = measure(Ours(stmt)), measure(Theirs(stmt))
        # torch stops with four blocks, whose median is two per cent off now and then.
        assert ours.median == pytest.approx(theirs.median, rel=0.15)
        assert ours.median == pytest.approx(COSTS[stmt], rel=0.1)
        assert isinstance(ours.mean, float)
    ours = Ours(stmt).blocked_autorange(min_run_time=5)
    assert sum(ours.raw_times) >= 5
    assert len(ours.times) >= 10


def lines_above_the_figures(measurement: object) -> str:
    text = repr(measurement).split("\n", 1)[1]
    return re.split(r"\n  (?:Median|WARNING)", text)[0].rstrip()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"sub_label": "loop"},
        {"label": "a label", "sub_label": "loop"},
        {"setup": "make_x()"},
        {"setup": "\n  x = [1]\n  for _ in range(3):\n      x.append(1)", "description": "words", "num_threads": 3},
    ],
)
def test_reprs_tell_the_same_about_the_task(fields: dict[str, Any]) -> None:
    stmt = "\n        for _ in x:\n            f(_)\n        "
    ours, theirs = Ours(stmt, **fields).blocked_autorange(), Theirs(stmt, **fields).blocked_autorange()
    assert lines_above_the_figures(ours) == lines_above_the_figures(theirs)
    threads = fields.get("num_threads", 1)
    assert f"{threads} thread{'' if threads == 1 else 's'}" in repr(ours)


def cells(text: str) -> dict[str, list[float | None]]:
    """Numbers of a printed table by the name of the row."""
    found = {}
    for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines():
        name, *numbers = (part.strip() for part in line.split("|"))
        if name and numbers and not name.startswith("["):
            found[name] = [float(number) if number else None for number in numbers]
    return found


def test_tables_have_the_same_cells() -> None:
    def results(timer: Any) -> list[Any]:
        return [
            timer(f"f() #{seconds}", label="f", sub_label=row, description=column).blocked_autorange(min_run_time=5)
            for column, times in {"8": (1e-6, 3e-6), "512": (2e-5, 9e-6, 8e-6)}.items()
            for row, seconds in zip(("plain", "fused", "special"), times, strict=False)
        ]

    ours, theirs = photometer.Compare(results(Ours)), torch_benchmark.Compare(results(Theirs))
    for change in ("", "trim_significant_figures", "colorize"):
        if change:
            getattr(ours, change)()
            getattr(theirs, change)()
        here, there = cells(str(ours)), cells(str(theirs))
        assert here.keys() == there.keys()
        for name in there:
            for one, other in zip(here[name], there[name], strict=True):
                assert (one is None) == (other is None)
                if one is not None:
                    assert one == pytest.approx(other, rel=0.25)
    assert "Times are in microseconds (us)." in str(ours)
    assert "\x1b[" in str(ours)


def test_fuzzed_tensors_are_the_same() -> None:
    def drawn(module: Any) -> list[Any]:
        size = module.FuzzedParameter("n", minval=1, maxval=16, distribution="loguniform")
        fuzzer = module.Fuzzer(parameters=[size], tensors=[module.FuzzedTensor("x", size=("n",))], seed=0)
        return [tensors["x"] for tensors, _, _ in fuzzer.take(3)]

    for ours, theirs in zip(drawn(photometer), drawn(torch_benchmark), strict=True):
        assert ours.equal(theirs)


def test_unmarked_globals_are_refused_before_anything_is_counted() -> None:
    with pytest.raises(ValueError, match="CopyIfCallgrind"):
        photometer.Timer("pass", globals={"x": 1}).collect_callgrind(collect_baseline=False)
