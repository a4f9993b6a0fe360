"""The first commit that differs is found with few tests, around commits that cannot be tested too."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, strategies as st

from photometer.commits.bisection import Outcome, bisect, coarse_to_fine, spread


class Line:
    """Commits of which all from `first` on differ; it remembers which were asked."""

    def __init__(self, first: int, untestable: frozenset[int] = frozenset()) -> None:
        self.first, self.untestable = first, untestable
        self.asked: list[int] = []

    def test(self, place: int) -> Outcome:
        self.asked.append(place)
        if place in self.untestable:
            return Outcome.UNTESTABLE
        return Outcome.CHANGED if place >= self.first else Outcome.SAME


@given(st.integers(1, 500), st.data())
def test_the_first_that_differs_is_found_in_as_few_steps_as_can_be(count: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, count - 1))
    line = Line(first)
    found = bisect(count, line.test)
    assert len(found.candidates) == 1
    assert found.first_changed == first
    assert found.steps == len(line.asked) == len(set(line.asked))
    assert found.steps <= math.ceil(math.log2(count)) if count > 1 else found.steps == 0


@given(st.integers(1, 200), st.data())
def test_what_cannot_be_tested_is_gone_around(count: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, count - 1))
    untestable = data.draw(st.frozensets(st.integers(0, count - 1), max_size=20)) - {count - 1}
    found = bisect(count, Line(first, untestable).test)
    assert first in found.candidates
    # All but the last of several are those that could not be tested.
    assert set(found.candidates[:-1]) <= untestable
    assert len(found.candidates) == 1 or untestable


def test_two_hundred_commits_take_at_most_eight_steps() -> None:
    for first in range(200):
        assert bisect(200, Line(first).test).steps <= 8


@given(st.integers(0, 300))
def test_coarse_to_fine_has_each_place_once_and_spreads_every_beginning(count: int) -> None:
    order = coarse_to_fine(count)
    assert sorted(order) == list(range(count))
    if count > 2:
        assert order[:2] == [count - 1, 0]
        for taken in (5, 9, 17):
            if taken < count:
                places = sorted(order[:taken])
                gaps = [after - before for before, after in itertools.pairwise(places)]
                assert max(gaps) <= 4 * math.ceil(count / (taken - 1))


@pytest.mark.parametrize(
    ("count", "every", "at_most", "taken"),
    [
        (10, 3, None, [0, 3, 6, 9]),
        (9, 3, None, [0, 2, 5, 8]),
        (10, None, 4, [0, 3, 6, 9]),
        (10, None, 1, [9]),
        (3, None, 9, [0, 1, 2]),
        (0, None, 3, []),
        (4, None, None, [0, 1, 2, 3]),
    ],
)
def test_commits_are_taken_evenly_with_both_ends(
    count: int, every: int | None, at_most: int | None, taken: list[int]
) -> None:
    assert spread(count, every=every, at_most=at_most) == taken
