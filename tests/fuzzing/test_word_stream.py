"""The word stream gives what numpy's own RandomState gives, draw for draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, strategies as st

from photometer.fuzzing.word_stream import BLOCK_WORDS, WordStream

_DRAWS = st.lists(
    st.one_of(
        st.just(("double",)),
        st.tuples(st.just("integer"), st.integers(-(2**40), 2**40), st.integers(0, 2**41)),
        st.tuples(st.just("permutation"), st.integers(0, 9)),
    ),
    max_size=30,
)


@given(seed=st.integers(0, 2**32 - 1), draws=_DRAWS)
def test_any_mixture_of_draws_follows_numpy(seed: int, draws: list[tuple[Any, ...]]) -> None:
    numpys, ours = np.random.RandomState(seed), WordStream(np.random.RandomState(seed))
    for draw in draws:
        if draw[0] == "double":
            assert ours.random_sample() == numpys.random_sample()
        elif draw[0] == "integer":
            low, high = draw[1], draw[1] + draw[2] + 1
            assert ours.randint(low, high) == numpys.randint(low, high, dtype=np.int64)
        else:
            assert ours.permutation(draw[1]) == tuple(numpys.permutation(draw[1]))


def test_full_ranges() -> None:
    for low, high in ((0, 2**32), (0, 2**32 - 1), (-(2**63), 2**63 - 1), (0, 2**63 - 1), (5, 6)):
        numpys, ours = np.random.RandomState(3), WordStream(np.random.RandomState(3))
        assert [ours.randint(low, high) for _ in range(9)] == [
            numpys.randint(low, high, dtype=np.int64) for _ in range(9)
        ]


def test_blocks_join_without_a_gap() -> None:
    numpys, ours = np.random.RandomState(7), WordStream(np.random.RandomState(7))
    for count in (1, 3, BLOCK_WORDS // 2 - 3, 5, 2 * BLOCK_WORDS, 1):
        ours.begin()
        place = ours.take_words(2 * count)
        word = ours.randint(0, 2**32)
        assert ours.doubles[place : place + 2 * count : 2] == numpys.random_sample(count).tolist()
        assert word == numpys.randint(0, 2**32, dtype=np.int64)
