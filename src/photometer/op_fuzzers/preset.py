"""What the ready-made fuzzers share: their base class, their default limits, and how sizes and steps are drawn.

The order and the probabilities of the parameters are those of `torch.utils.benchmark.op_fuzzers`, so that a seed means
the same inputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from photometer.fuzzing.element_type import DEFAULT_DTYPE, dtype_name
from photometer.fuzzing.fuzzer import Constraint, Fuzzer
from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias, constructor_text
from photometer.fuzzing.tensor import FuzzedTensor

MAX_DIM = 3
MIN_DIM_SIZE = 16
MAX_DIM_SIZE = 16 * 1024**2
MIN_ELEMENTS = 4 * 1024
MAX_ELEMENTS = 32 * 1024**2
MAX_ALLOCATION_BYTES = 2 * 1024**3
STEPS = {1: 0.8, 2: 0.06, 4: 0.06, 8: 0.04, 16: 0.04}
DIMENSIONALITY = {1: 0.3, 2: 0.4, 3: 0.3}


class PresetFuzzer(Fuzzer):
    """A ready-made fuzzer that prints as the short call that made it: `arguments` are those of the subclass."""

    def __init__(
        self,
        parameters: Iterable[FuzzedParameter | Iterable[FuzzedParameter]],
        tensors: Iterable[FuzzedTensor | Iterable[FuzzedTensor]],
        *,
        seed: int | None,
        arguments: Mapping[str, Any],
        constraints: Sequence[Constraint] | None = None,
    ) -> None:
        super().__init__(parameters, tensors, constraints, seed)
        self._arguments = dict(arguments)
        if "dtype" in self._arguments:
            self._arguments["dtype"] = dtype_name(self._arguments["dtype"])
        if self._arguments.get("device") is not None:
            self._arguments["device"] = str(self._arguments["device"])

    def rebuild_line(self, index: int) -> str:
        """Return one line of Python that makes input `index` again, with its imports."""
        imports = f"from {type(self).__module__} import {type(self).__name__}"
        return f"{imports}; tensors, properties, params = {self!r}.at({index})"

    def __repr__(self) -> str:
        defaults = {name: each.default for name, each in inspect.signature(type(self)).parameters.items()}
        return constructor_text(type(self).__name__, (), {"seed": self.seed, **self._arguments}, defaults)


class LimitedFuzzer(PresetFuzzer):
    """A ready-made fuzzer with limits on elements and bytes; a subclass says what is drawn, and which tensors are made.

    The arguments are those of torch's fuzzers, and limits.
    """

    def __init__(
        self,
        seed: int | None,
        dtype: Any = DEFAULT_DTYPE,
        cuda: bool = False,
        *,
        device: Any = None,
        min_elements: int = MIN_ELEMENTS,
        max_elements: int = MAX_ELEMENTS,
        max_allocation_bytes: int = MAX_ALLOCATION_BYTES,
    ) -> None:
        limits = {
            "dtype": dtype,
            "cuda": cuda,
            "device": device,
            "min_elements": min_elements,
            "max_elements": max_elements,
            "max_allocation_bytes": max_allocation_bytes,
        }
        super().__init__(
            self._drawn(), self._made(limits), seed=seed, arguments=limits, constraints=self._kept_constraints()
        )

    def _drawn(self) -> list[FuzzedParameter | Iterable[FuzzedParameter]]:
        raise NotImplementedError

    def _made(self, limits: dict[str, Any]) -> list[FuzzedTensor]:
        raise NotImplementedError

    def _kept_constraints(self) -> list[Constraint] | None:
        return None


def powers_of_two(low: int, high: int) -> dict[int, float]:
    """Return the powers of two from `low` to `high` (both powers of two), equally likely."""
    sizes = [1 << bits for bits in range(low.bit_length() - 1, high.bit_length())]
    return dict.fromkeys(sizes, 1.0 / len(sizes))


def any_or_power_of_two(
    count: int = MAX_DIM, low: int = MIN_DIM_SIZE, high: int = MAX_DIM_SIZE, prefix: str = "k"
) -> list[FuzzedParameter]:
    """Return `k0`, `k1`, ...: any size with probability 0.8, otherwise a power of two; both evenly over the octaves.

    Which of the two is drawn is strict, so redrawing sizes to meet the limits does not change the mixture.
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
    """Return `x_step_0`, `x_step_1`, ...: mostly 1, sometimes larger, which makes the tensor strided."""
    return [FuzzedParameter(f"{tensor}_step_{i}", distribution=STEPS) for i in range(MAX_DIM) for tensor in tensors]


def random_value() -> FuzzedParameter:
    """Return a number that a statement may use as its own seed."""
    return FuzzedParameter("random_value", minval=0, maxval=2**32 - 1, distribution="uniform")
