"""numpy's legacy random stream, read one 32-bit word at a time and fetched in blocks.

In comes a seeded `RandomState`; out come the numbers that its own methods would return, in the same order, about fifty
times faster than by one call per number. The algorithms are frozen by numpy's policy for `RandomState`; they are
written out here so that the parameters of a seed do not depend on whether a machine fuses multiply and add.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# One block is enough for a few hundred parameter sets; larger ones only delay the first set.
BLOCK_WORDS = 8192
_WORD_MAX = 0xFFFFFFFF


class WordStream:
    """The words of a `RandomState`, with the draws a fuzzer makes from them."""

    def __init__(self, state: np.random.RandomState) -> None:
        self._state = state
        self.words: npt.NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
        self._cursor = 0
        # The double that starts at each word but the last. A list, because its items are read one at a time.
        self.doubles: list[float] = []

    def _reserve(self, count: int) -> None:
        """Fetch the next `count` words and the doubles that start at them, unless present. Offsets stay valid."""
        if self._cursor + count < self.words.size:
            return
        fresh = self._state.randint(0, 2**32, size=max(BLOCK_WORDS, count + 1), dtype=np.uint32)
        self.words = np.concatenate([self.words, fresh])
        words = self.words[len(self.doubles) :]
        # 53 bits: 27 of the first word above 26 of the second, as the reference Mersenne Twister does it.
        self.doubles += (((words[:-1] >> 5) * 67108864.0 + (words[1:] >> 6)) / 9007199254740992.0).tolist()

    def begin(self) -> None:
        """Drop used words once there is a block of them; earlier offsets are invalid afterwards."""
        if self._cursor > BLOCK_WORDS:
            self.words = self.words[self._cursor :]
            self.doubles = self.doubles[self._cursor :]
            self._cursor = 0

    def take_words(self, count: int) -> int:
        """Take `count` words. Return their offset in `words` and `doubles`, which is valid until the next `begin`."""
        self._reserve(count)
        offset = self._cursor
        self._cursor = offset + count
        return offset

    def random_sample(self) -> float:
        """Return the next double in [0, 1)."""
        offset = self.take_words(2)
        return self.doubles[offset]

    def randint(self, low: int, high: int) -> int:
        """Return an integer in [low, high), by masking and retrying, as `RandomState.randint` draws 64-bit integers."""
        span = high - 1 - low
        if span == 0:
            return low
        mask = (1 << span.bit_length()) - 1
        while True:
            value = (self._next_word() if span <= _WORD_MAX else self._next_two_words()) & mask
            if value <= span:
                return low + value

    def permutation(self, length: int) -> tuple[int, ...]:
        """Return the numbers from 0 to `length` - 1, shuffled from the last place down."""
        order = list(range(length))
        for place in range(length - 1, 0, -1):
            other = self.randint(0, place + 1)
            order[place], order[other] = order[other], order[place]
        return tuple(order)

    def _next_word(self) -> int:
        offset = self.take_words(1)  # first: it may replace `words`
        return int(self.words[offset])

    def _next_two_words(self) -> int:
        high = self._next_word()
        return high << 32 | self._next_word()
