"""A short piece of benchmarks/fuzz_inputs.py: the same inputs in every run, all of them read or refused in words."""

from __future__ import annotations

import pytest
from benchmarks.fuzz_inputs import KINDS, Total, fuzz

# About two seconds each on an idle core.
COUNTS = {
    "command": 100,
    "results": 150,
    "suite": 500,
    "pyproject": 800,
    "torch_pickle": 800,
    "store": 60,
    "callgrind": 800,
    "message": 4000,
    "github": 2000,
    "instruments": 100,
    "loaders": 150,
    "warm": 1000,
}


@pytest.mark.lengthy
@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_read_or_refused_in_words(kind: str) -> None:
    total = Total()
    found = fuzz(kind, 1, total, count=COUNTS[kind], seconds=600.0)
    assert [f"{one.fault} --seed 1 --first {one.number}: {one.place}: {one.words}" for one in found] == []
    assert total.inputs == total.next == COUNTS[kind]


def test_a_piece_ends_with_its_time_and_the_next_goes_on_where_it_stopped() -> None:
    total = Total()
    fuzz("message", 1, total, count=None, seconds=0.0)
    assert (total.inputs, total.next) == (0, 0)
    fuzz("message", 1, total, count=3, seconds=600.0)
    fuzz("message", 1, total, count=2, seconds=600.0)
    assert (total.inputs, total.next) == (5, 5)
