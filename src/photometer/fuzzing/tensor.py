"""FuzzedTensor: a tensor whose size, strides and layout follow the parameters of its input.

In come drawn parameters, the layout drawn with them and torch's own random stream; out come the tensor and its
properties. The limits are checked on the parameters, before anything is allocated. torch is imported when a tensor is
made, not before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from photometer.errors import DefinitionError
from photometer.fuzzing.element_type import DEFAULT_DTYPE, dtype_name, dtype_size, torch_dtype
from photometer.fuzzing.parameter import constructor_text
from photometer.fuzzing.word_stream import WordStream

# Values of whole-number tensors, as torch's fuzzer draws them: they fit every integer type, and none is zero.
_WHOLE_LOW, _WHOLE_HIGH = 1, 127
# To skip a tensor only its random numbers are needed: 4 MiB of doubles at a time.
_SKIP_CHUNK = 2**19


def random_values(size: Sequence[int], dtype: Any) -> Any:
    """Return floats and complex numbers uniform in [0, 1), whole numbers from 1 to 126, or fair booleans."""
    import torch

    if dtype == torch.bool:
        return torch.randint(0, 2, size=tuple(size), dtype=dtype, device="cpu")
    if dtype.is_floating_point and dtype.itemsize == 1:  # no generator makes 8-bit floats
        return torch.rand(size=tuple(size), device="cpu").to(dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.rand(size=tuple(size), dtype=dtype, device="cpu")
    return torch.randint(_WHOLE_LOW, _WHOLE_HIGH, size=tuple(size), dtype=dtype, device="cpu")


class FuzzedTensor:
    """A dense tensor of each input.

    `size` and `steps` hold whole numbers and names of parameters. With steps, a larger tensor is made and sliced, so
    that its memory is strided. `dim_parameter` names the parameter that decides how many dimensions to keep (missing
    ones are 1). With probability 1 - `probability_contiguous` the memory order of the dimensions is shuffled; the shape
    stays the same. `tensor_constructor(size=..., dtype=..., **params)` replaces the default values.
    `roll_parameter` is accepted because torch's fuzzer takes it; neither uses it. `cuda=True` means `device="cuda"`.
    `dtype_parameter` names a parameter whose values are dtypes or their names, for inputs of several dtypes.
    """

    def __init__(
        self,
        name: str,
        size: Sequence[str | int],
        steps: Sequence[str | int] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: Any = DEFAULT_DTYPE,
        cuda: bool = False,
        tensor_constructor: Callable[..., Any] | None = None,
        device: Any = None,
        dtype_parameter: str | None = None,
    ) -> None:
        self.name = name
        self.size = _entries((size,) if isinstance(size, (str, int)) else size)
        self.steps = _entries(steps or ())
        self.probability_contiguous = probability_contiguous
        self.min_elements = min_elements
        self.max_elements = max_elements
        self.max_allocation_bytes = max_allocation_bytes
        self.dim_parameter = dim_parameter
        self.roll_parameter = roll_parameter
        self.dtype_name = dtype_name(dtype)
        self.dtype_parameter = dtype_parameter
        self.bytes_per_element = dtype_size(dtype)
        self.tensor_constructor = tensor_constructor
        self.device = str(device) if device is not None else ("cuda" if cuda else "cpu")
        self._check()

    def _check(self) -> None:
        problem = ""
        if not isinstance(self.name, str) or not self.name:
            problem = "a tensor's name must be a string"
        elif not 0 <= self.probability_contiguous <= 1:
            problem = f"probability_contiguous is {self.probability_contiguous!r}, not between 0 and 1"
        elif any(not isinstance(entry, (str, int)) or (isinstance(entry, int) and entry < 0) for entry in self.size):
            problem = f"size {self.size!r} may hold names and whole numbers from 0"
        elif any(not isinstance(entry, (str, int)) or (isinstance(entry, int) and entry < 1) for entry in self.steps):
            problem = f"steps {self.steps!r} may hold names and whole numbers from 1"
        elif self.min_elements is not None and self.max_elements is not None and self.min_elements > self.max_elements:
            problem = f"min_elements {self.min_elements} is greater than max_elements {self.max_elements}"
        if problem:
            raise DefinitionError(f"Tensor {self.name!r}: {problem}.", remedy="Correct the tensor's specification.")

    @property
    def size_names(self) -> tuple[str, ...]:
        """The parameters that give sizes."""
        return tuple(entry for entry in self.size if isinstance(entry, str))

    @property
    def step_names(self) -> tuple[str, ...]:
        """Return the names of the parameters that are strides."""
        return tuple(entry for entry in self.steps if isinstance(entry, str))

    @property
    def other_names(self) -> tuple[str, ...]:
        """The parameters that are looked up for anything but sizes and steps."""
        names = (self.dim_parameter, self.roll_parameter, self.dtype_parameter)
        return tuple(name for name in names if name is not None)

    def dim_of(self, params: Mapping[str, Any]) -> int:
        """Return the number of dimensions of a draw."""
        return len(self.size) if self.dim_parameter is None else int(params[self.dim_parameter])

    def size_of(self, params: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the size of a draw."""
        return _resolved(self.size, self.dim_of(params), params)

    def steps_of(self, params: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the strides of a draw."""
        return _resolved(self.steps, self.dim_of(params), params)

    def dtype_of(self, params: Mapping[str, Any]) -> str:
        """Return the element type of a draw."""
        return self.dtype_name if self.dtype_parameter is None else dtype_name(params[self.dtype_parameter])

    def element_bytes(self, params: Mapping[str, Any]) -> int:
        """Return the bytes of one element of a draw."""
        return self.bytes_per_element if self.dtype_parameter is None else dtype_size(params[self.dtype_parameter])

    def allocation_bytes(self, params: Mapping[str, Any]) -> int:
        """Return the bytes of the tensor before slicing. Python's integers do not overflow; numpy's would."""
        return self.element_bytes(params) * math.prod(self.size_of(params)) * math.prod(self.steps_of(params))

    def broken_limit(self, params: Mapping[str, Any]) -> str | None:
        """Return the name of the limit that these parameters break, if any."""
        elements = 1
        for entry in self.size[: self.dim_of(params)]:  # the innermost loop of drawing: no tuples, no generators
            elements *= params[entry] if isinstance(entry, str) else entry
        if self.max_elements is not None and elements > self.max_elements:
            return "max_elements"
        if self.min_elements is not None and elements < self.min_elements:
            return "min_elements"
        if self.max_allocation_bytes is not None and self.allocation_bytes(params) > self.max_allocation_bytes:
            return "max_allocation_bytes"
        return None

    def satisfies_constraints(self, params: Mapping[str, Any]) -> bool:
        """Return whether a draw is within the limits."""
        return self.broken_limit(params) is None

    def draw_order(self, params: Mapping[str, Any], stream: WordStream) -> tuple[int, ...]:
        """Return the memory order of the dimensions; (0, 1, 2) is contiguous before slicing."""
        dim = self.dim_of(params)
        straight = order = tuple(range(dim))
        if stream.random_sample() > self.probability_contiguous and dim > 1:
            while order == straight:
                order = stream.permutation(dim)
        return order

    @staticmethod
    def default_tensor_constructor(size: Sequence[int], dtype: Any, **kwargs: Any) -> Any:
        """Return random values of a size and type, as torch's fuzzer makes them."""
        return random_values(size, dtype)

    def make(self, params: Mapping[str, Any], order: tuple[int, ...]) -> tuple[Any, dict[str, Any]]:
        """Return the tensor and its properties; the values come from torch's global random stream."""
        size, steps = self.size_of(params), self.steps_of(params)
        constructor = self.tensor_constructor or self.default_tensor_constructor
        raw = constructor(size=self._allocated(params), dtype=torch_dtype(self.dtype_of(params)), **params)
        if self.device != "cpu":
            raw = raw.to(self.device)
        if order != tuple(range(len(size))):
            raw = raw.permute(order).contiguous().permute(tuple(np.argsort(order).tolist()))
        tensor = raw[tuple(slice(0, length * step, step) for length, step in zip(size, steps, strict=True))]
        return tensor, {
            "numel": int(tensor.numel()),
            "order": np.array(order, dtype=np.int64),
            "steps": steps,
            "is_contiguous": bool(tensor.is_contiguous()),
            "dtype": f"torch.{self.dtype_of(params)}",
        }

    def skip(self, params: Mapping[str, Any]) -> None:
        """Use up the random numbers that `make` would; with default values without memory for the tensor."""
        if self.tensor_constructor is not None:
            self.tensor_constructor(size=self._allocated(params), dtype=torch_dtype(self.dtype_of(params)), **params)
            return
        remaining = math.prod(self._allocated(params))
        while remaining > 0:
            random_values((min(remaining, _SKIP_CHUNK),), torch_dtype(self.dtype_of(params)))
            remaining -= _SKIP_CHUNK

    def _allocated(self, params: Mapping[str, Any]) -> tuple[int, ...]:
        return tuple(n * step for n, step in zip(self.size_of(params), self.steps_of(params), strict=True))

    def __repr__(self) -> str:
        arguments = {
            "steps": self.steps or None,
            "probability_contiguous": self.probability_contiguous,
            "min_elements": self.min_elements,
            "max_elements": self.max_elements,
            "max_allocation_bytes": self.max_allocation_bytes,
            "dim_parameter": self.dim_parameter,
            "roll_parameter": self.roll_parameter,
            "dtype": self.dtype_name,
            "tensor_constructor": self.tensor_constructor,
            "device": self.device,
            "dtype_parameter": self.dtype_parameter,
        }
        defaults = {"probability_contiguous": 0.5, "dtype": DEFAULT_DTYPE, "device": "cpu"}
        return constructor_text(type(self).__name__, (self.name, self.size), arguments, defaults)


def _entries(given: Sequence[str | int]) -> tuple[str | int, ...]:
    """Return numpy's whole numbers as Python's, which do not overflow when multiplied."""
    return tuple(int(entry) if isinstance(entry, Integral) else entry for entry in given)


def _resolved(entries: Sequence[str | int], dim: int, params: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the first `dim` entries as numbers, filled up with ones if there are fewer."""
    numbers = tuple(params[entry] if isinstance(entry, str) else entry for entry in entries[:dim])
    return numbers + (1,) * (dim - len(numbers))
