"""Parameters that several presets share: sizes that are powers of two more often than chance, steps, and entropy.

The order and the probabilities are those of `torch.utils.benchmark.op_fuzzers`, so that their seeds keep their meaning.
"""

from __future__ import annotations

from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.parameter_alias import ParameterAlias

MAX_DIM = 3
MIN_DIM_SIZE = 16
MAX_DIM_SIZE = 16 * 1024**2
MIN_ELEMENTS = 4 * 1024
MAX_ELEMENTS = 32 * 1024**2
MAX_ALLOCATION_BYTES = 2 * 1024**3
STEPS = {1: 0.8, 2: 0.06, 4: 0.06, 8: 0.04, 16: 0.04}
DIMENSIONALITY = {1: 0.3, 2: 0.4, 3: 0.3}


def powers_of_two(low: int, high: int) -> dict[int, float]:
    """The powers of two from `low` to `high`, both of them powers, equally likely."""
    sizes = [1 << bits for bits in range(low.bit_length() - 1, high.bit_length())]
    return dict.fromkeys(sizes, 1.0 / len(sizes))


def any_or_power_of_two(
    count: int = MAX_DIM, low: int = MIN_DIM_SIZE, high: int = MAX_DIM_SIZE, prefix: str = "k"
) -> list[FuzzedParameter]:
    """`k0`, `k1`, ...: four times in five any size, otherwise a power of two; both evenly over the octaves.

    Which of the two it is stays put while the sizes are redrawn, so limits do not change the mixture.
    """
    anything = [FuzzedParameter(f"{prefix}_any_{i}", low, high, "loguniform") for i in range(count)]
    powers = [FuzzedParameter(f"{prefix}_pow2_{i}", distribution=powers_of_two(low, high)) for i in range(count)]
    mixed = [
        FuzzedParameter(
            f"{prefix}{i}",
            distribution={ParameterAlias(f"{prefix}_any_{i}"): 0.8, ParameterAlias(f"{prefix}_pow2_{i}"): 0.2},
            strict=True,
        )
        for i in range(count)
    ]
    return anything + powers + mixed


def steps(tensors: tuple[str, ...] = ("x",)) -> list[FuzzedParameter]:
    """`x_step_0`, `x_step_1`, ...: mostly 1, sometimes strided."""
    return [FuzzedParameter(f"{tensor}_step_{i}", distribution=STEPS) for i in range(MAX_DIM) for tensor in tensors]


def random_value() -> FuzzedParameter:
    """A number that a statement may use as its own seed."""
    return FuzzedParameter("random_value", minval=0, maxval=2**32 - 1, distribution="uniform")
