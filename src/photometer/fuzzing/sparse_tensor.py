"""FuzzedSparseTensor: a sparse COO tensor whose size, density and form follow the parameters of its input.

As for `FuzzedTensor`: parameters in, tensor and properties out, limits checked before anything is allocated. A hybrid
tensor (dense below some dimension) can hold far more values than its dense form has elements, so here the limit on
bytes matters most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.errors import DefinitionError
from photometer.fuzzing.element_type import DEFAULT_DTYPE, torch_dtype
from photometer.fuzzing.parameter import constructor_text
from photometer.fuzzing.tensor import FuzzedTensor, random_values
from photometer.fuzzing.word_stream import WordStream

_INDEX_BYTES = 8  # indices are int64


class FuzzedSparseTensor(FuzzedTensor):
    """A sparse tensor of each input.

    `sparse_dim`, `density`, `nnz` and `coalesced` are each the name of a parameter, or a plain value. The number of
    stored values is density times the *sum* of the sizes, as in torch's fuzzer (so a seed means the same tensors);
    `nnz` is used if no density is given. Without an argument, parameters named "density" and "coalesced" are used if
    there are any. A tensor that is not coalesced stores every index twice.
    """

    def __init__(
        self,
        name: str,
        size: Sequence[str | int],
        min_elements: int | None = None,
        max_elements: int | None = None,
        dim_parameter: str | None = None,
        sparse_dim: str | int | None = None,
        nnz: str | int | None = None,
        density: str | float | None = None,
        coalesced: str | bool | None = None,
        dtype: Any = DEFAULT_DTYPE,
        cuda: bool = False,
        max_allocation_bytes: int | None = None,
        device: Any = None,
    ) -> None:
        self.sparse_dim = sparse_dim
        self.nnz = nnz
        self.density = density
        self.coalesced = coalesced
        super().__init__(
            name=name,
            size=size,
            min_elements=min_elements,
            max_elements=max_elements,
            max_allocation_bytes=max_allocation_bytes,
            dim_parameter=dim_parameter,
            dtype=dtype,
            cuda=cuda,
            device=device,
        )
        if isinstance(density, (int, float)) and not 0 <= density <= 1:
            raise DefinitionError(
                f"Tensor {name!r}: density {density!r} is not between 0 and 1.", remedy="Correct the density."
            )

    @property
    def other_names(self) -> tuple[str, ...]:
        own = (self.sparse_dim, self.nnz, self.density, self.coalesced)
        return super().other_names + tuple(entry for entry in own if isinstance(entry, str))

    def stored_values(self, params: Mapping[str, Any]) -> int:
        """Return how many entries are stored, before an uncoalesced tensor doubles them."""
        size = self.size_of(params)
        density = self._density_of(params)
        if density is not None:
            return math.ceil(sum(size) * density)
        return int(_value(self.nnz, params))

    def _density_of(self, params: Mapping[str, Any]) -> float | None:
        if self.density is None and self.nnz is not None:
            return None
        density = _value("density" if self.density is None else self.density, params)
        if density is None:
            raise DefinitionError(
                f"Tensor {self.name!r} has neither density nor nnz.",
                remedy='Give density=, nnz=, or a parameter "density".',
            )
        if not 0 <= density <= 1:
            raise DefinitionError(
                f"Tensor {self.name!r}: density {density!r} is not between 0 and 1.", remedy="Correct the density."
            )
        return float(density)

    def _coalesced_of(self, params: Mapping[str, Any]) -> bool:
        chosen = _value("coalesced" if self.coalesced is None else self.coalesced, params)
        return True if chosen is None else bool(chosen)

    def _sparse_dim_of(self, params: Mapping[str, Any]) -> int:
        dim = self.dim_of(params)
        chosen = _value(self.sparse_dim, params)
        return dim if chosen is None else min(int(chosen), dim)

    def allocation_bytes(self, params: Mapping[str, Any]) -> int:
        """Return the bytes of values and indices: for a hybrid tensor many more than those of its dense form."""
        sparse_dim = self._sparse_dim_of(params)
        entries = self.stored_values(params) * (1 if self._coalesced_of(params) else 2)
        values = entries * math.prod(self.size_of(params)[sparse_dim:]) * self.bytes_per_element
        return values + entries * sparse_dim * _INDEX_BYTES

    def draw_order(self, params: Mapping[str, Any], stream: WordStream) -> tuple[int, ...]:
        """Return the plain order: a sparse tensor has no memory order, and takes nothing from the stream."""
        return tuple(range(self.dim_of(params)))

    @staticmethod
    def sparse_tensor_constructor(
        size: Sequence[int] | int, dtype: Any, sparse_dim: int, nnz: int, is_coalesced: bool
    ) -> Any:
        """Make a tensor of `nnz` random values at random places. Coalescing may merge a few at the same place."""
        import torch

        shape = tuple([size] * sparse_dim if isinstance(size, int) else size)
        if nnz and 0 in shape[:sparse_dim]:
            raise DefinitionError(
                f"A sparse tensor of size {shape} cannot hold {nnz} values.", remedy="Give sizes from 1."
            )
        values = random_values((nnz, *shape[sparse_dim:]), dtype)
        lengths = torch.tensor(shape[:sparse_dim], dtype=torch.int64).unsqueeze(1)
        places = torch.rand(sparse_dim, nnz, device="cpu")
        # Single precision rounds sizes over 2**24, possibly up to one past the last place.
        indices = torch.minimum(places.mul_(lengths.to(places)).to(torch.long), lengths - 1)
        if not is_coalesced:
            twins = torch.randn_like(values) if dtype.is_floating_point else random_values(values.shape, dtype)
            values = torch.cat([values, twins], 0)
            indices = torch.cat([indices, indices], 1)
        tensor = torch.sparse_coo_tensor(indices, values, shape, check_invariants=True)
        return tensor.coalesce() if is_coalesced else tensor

    def make(self, params: Mapping[str, Any], order: tuple[int, ...]) -> tuple[Any, dict[str, Any]]:
        size = self.size_of(params)
        nnz = self.stored_values(params)
        tensor = self.sparse_tensor_constructor(
            size, torch_dtype(self.dtype_name), self._sparse_dim_of(params), nnz, self._coalesced_of(params)
        )
        if self.device != "cpu":
            tensor = tensor.to(self.device)
        density = self._density_of(params)
        if density is None:
            density = nnz / max(1, sum(size))
        return tensor, {
            "numel": int(tensor.numel()),
            "shape": tensor.size(),
            "is_coalesced": bool(tensor.is_coalesced()),
            "density": density,
            "sparsity": 1.0 - density,
            "sparse_dim": tensor.sparse_dim(),
            "dense_dim": tensor.dense_dim(),
            "is_hybrid": tensor.dense_dim() > 0,
            "dtype": f"torch.{self.dtype_name}",
        }

    def skip(self, params: Mapping[str, Any]) -> None:
        """Make the tensor and drop it: normal numbers are drawn in groups. The limit on bytes bounds the memory."""
        self.make(params, ())

    def __repr__(self) -> str:
        arguments = {
            "min_elements": self.min_elements,
            "max_elements": self.max_elements,
            "dim_parameter": self.dim_parameter,
            "sparse_dim": self.sparse_dim,
            "nnz": self.nnz,
            "density": self.density,
            "coalesced": self.coalesced,
            "dtype": self.dtype_name,
            "max_allocation_bytes": self.max_allocation_bytes,
            "device": self.device,
        }
        defaults = {"dtype": DEFAULT_DTYPE, "device": "cpu"}
        return constructor_text(type(self).__name__, (self.name, self.size), arguments, defaults)


def _value(entry: Any, params: Mapping[str, Any]) -> Any:
    """Return a parameter's value for a name, None if it is not drawn; anything else is returned as it is."""
    if not isinstance(entry, str):
        return entry
    try:
        return params[entry]  # not `get`: a candidate's values are computed when they are read
    except KeyError:
        return None
