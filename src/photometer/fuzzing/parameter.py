"""FuzzedParameter: one named number (or other value) that differs from input to input, and how it is drawn.

In comes a random source with numpy's `random_sample` and `randint`; out comes a value, or a `ParameterAlias` that
stands for the value of another parameter. A bad specification raises a DefinitionError when it is written.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from photometer.errors import DefinitionError

DISTRIBUTIONS = ("loguniform", "uniform")
# Probabilities like 1/3 are typed with a few digits; torch's fuzzer has the same tolerance.
PROBABILITY_SUM_TOLERANCE = 1e-5
# A range of one of these lengths is drawn by masking bits off one word, without a second try.
_WHOLE_BITS = frozenset(1 << bits for bits in range(1, 33))
# numpy's RandomState draws 64-bit integers.
_INTEGER_MIN, _INTEGER_MAX = -(2**63), 2**63 - 1


class RandomSource(Protocol):
    """The interface for drawing one parameter: a `WordStream` or a numpy `RandomState`."""

    def random_sample(self) -> float: ...

    def randint(self, low: int, high: int) -> int: ...


class ParameterAlias:
    """The value of another parameter, for a dict distribution: so two sizes are sometimes the same.

    An alias may name a parameter that is itself an alias. Two aliases of one parameter are separate choices, so they
    compare by identity.
    """

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias({self.alias_to!r})"


class FuzzedParameter:
    """A parameter with a new value for each input.

    `distribution` is "loguniform" (whole numbers from `minval` to `maxval`, each octave as likely as the next),
    "uniform" (whole numbers if both bounds are integers, otherwise a float), or a dict from value to probability,
    whose values may be aliases of other parameters. A `strict` parameter keeps its value while the
    others are redrawn to satisfy the constraints, so that the constraints cannot skew it.
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | Mapping[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        self.name = name
        self.minval = minval
        self.maxval = maxval
        self.distribution = distribution
        self.strict = strict
        if not isinstance(name, str) or not name:
            raise DefinitionError(f"A parameter's name must be a string, not {name!r}.", remedy='Name it, e.g. "k0".')
        # True if the value comes from `randint`; every other parameter takes exactly one double from the stream.
        self.is_whole_number_range = distribution == "uniform" and isinstance(minval, int) and isinstance(maxval, int)
        # True if a whole number always takes one word of the stream: its range fills the bits that are drawn.
        self.takes_one_word = False
        if self.is_whole_number_range and minval is not None and maxval is not None:
            self.takes_one_word = int(maxval) - int(minval) + 1 in _WHOLE_BITS
        # The value that one double in [0, 1) from the stream stands for.
        self.value_at: Callable[[float], Any]
        if isinstance(distribution, Mapping):
            self._check_choices(distribution)
            self.value_at = _choice_at(distribution)
        else:
            low, high = self._checked_bounds()
            self.value_at = _power_at(low, high) if distribution == "loguniform" else _float_at(low, high)

    def value_at_word(self, word: int) -> int:
        """Return the whole number that one word stands for, if `takes_one_word`."""
        assert isinstance(self.minval, int)
        assert isinstance(self.maxval, int)
        return self.minval + (int(word) & (self.maxval - self.minval))

    @property
    def possible_choices(self) -> tuple[Any, ...]:
        """The values of a dict distribution whose probability is not zero; empty for a range."""
        if not isinstance(self.distribution, Mapping):
            return ()
        return tuple(_python_value(value) for value, probability in self.distribution.items() if probability > 0)

    def sample(self, state: RandomSource) -> Any:
        """Draw one value; it may be an alias of another parameter."""
        if self.is_whole_number_range:
            assert isinstance(self.minval, int)
            assert isinstance(self.maxval, int)
            return int(state.randint(self.minval, self.maxval + 1))
        return self.value_at(state.random_sample())

    def _checked_bounds(self) -> tuple[float, float]:
        if self.distribution not in DISTRIBUTIONS:
            raise DefinitionError(
                f"Parameter {self.name!r}: unknown distribution {self.distribution!r}.",
                remedy='Give "loguniform", "uniform", or a dict from value to probability.',
            )
        if self.minval is None or self.maxval is None:
            raise DefinitionError(
                f"Parameter {self.name!r}: a {self.distribution} distribution lacks a bound.",
                remedy="Give both minval and maxval.",
            )
        low, high = self.minval, self.maxval
        if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(float(high) - float(low))):
            raise DefinitionError(
                f"Parameter {self.name!r}: the bounds {low!r} and {high!r} are not finite.",
                remedy="Give finite bounds.",
            )
        if low > high:
            raise DefinitionError(
                f"Parameter {self.name!r}: minval {low!r} is greater than maxval {high!r}.",
                remedy="Swap or correct the bounds.",
            )
        if self.distribution == "loguniform" and low <= 0:
            raise DefinitionError(
                f"Parameter {self.name!r}: minval {low!r} has no logarithm.",
                remedy='Give a positive minval, or use "uniform".',
            )
        if self.is_whole_number_range and (low < _INTEGER_MIN or high > _INTEGER_MAX - 1):
            raise DefinitionError(
                f"Parameter {self.name!r}: the bounds {low!r} and {high!r} do not fit 64-bit integers.",
                remedy="Give bounds from -2**63 to 2**63 - 2.",
            )
        return low, high

    def _check_choices(self, choices: Mapping[Any, float]) -> None:
        if self.minval is not None or self.maxval is not None:
            raise DefinitionError(
                f"Parameter {self.name!r}: a dict distribution has no minval or maxval.",
                remedy="Leave the bounds out, or name a distribution.",
            )
        bad = {value: p for value, p in choices.items() if not (math.isfinite(p) and p >= 0)}
        if bad:
            raise DefinitionError(
                f"Parameter {self.name!r}: probabilities must be finite and not negative, unlike {bad!r}.",
                remedy="Correct the probabilities.",
            )
        total = math.fsum(choices.values())
        if abs(total - 1) > PROBABILITY_SUM_TOLERANCE:
            raise DefinitionError(
                f"Parameter {self.name!r}: the probabilities sum to {total:.6g}, not to one.",
                remedy="The dict maps each value to its probability; make the probabilities sum to one.",
            )

    def __repr__(self) -> str:
        arguments = {
            "minval": self.minval,
            "maxval": self.maxval,
            "distribution": dict(self.distribution) if isinstance(self.distribution, Mapping) else self.distribution,
            "strict": self.strict,
        }
        return constructor_text(type(self).__name__, (self.name,), arguments, {"strict": False})


def constructor_text(
    name: str, positional: Sequence[Any], keywords: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> str:
    """Return the call `Name(positional, key=value)`, without keywords that are None or have their default value.

    So a printed parameter, tensor or fuzzer can be pasted and run.
    """
    known = defaults or {}
    parts = [repr(value) for value in positional]
    parts += [f"{key}={value!r}" for key, value in keywords.items() if value is not None and value != known.get(key)]
    return f"{name}({', '.join(parts)})"


def _choice_at(choices: Mapping[Any, float]) -> Callable[[float], Any]:
    values = tuple(_python_value(choice) for choice in choices)
    sums = np.cumsum(np.asarray(tuple(choices.values()), dtype=np.float64))
    cumulative: list[float] = (sums / sums[-1]).tolist()
    return lambda quantile: values[bisect_right(cumulative, quantile)]


def _python_value(value: Any) -> Any:
    """Return a numpy scalar as Python's, so that a product of sizes cannot overflow."""
    return value.item() if isinstance(value, np.generic) else value


def _power_at(low: float, high: float) -> Callable[[float], Any]:
    low, high = _python_value(low), _python_value(high)
    low_bits, high_bits = float(np.log2(low)), float(np.log2(high))
    span_bits = high_bits - low_bits

    def value_at(quantile: float) -> float:
        value = int(2 ** (low_bits + span_bits * quantile))
        # Powers of rounded logarithms may fall just outside the bounds.
        return low if value < low else (high if value > high else value)

    return value_at


def _float_at(low: float, high: float) -> Callable[[float], Any]:
    start, span = float(low), float(high) - float(low)
    return lambda quantile: start + span * quantile
