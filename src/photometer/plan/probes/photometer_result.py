"""Writes what a variant computed as JSON, so that Python, C++, TorchScript and compiled variants can be compared.

It runs in the worker, next to the user's snippet, where photometer may not be installed: standard library only.
In come named values, out comes {name: [{"shape": […], "values": […]}, …]}, as from photometer_result.h in C++. Of a
large tensor some thousand values are written, evenly spread: JSON of a hundred million would take minutes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# As in photometer_result.h.
MOST_VALUES = 10_000


def write_result(path: str, named: dict[str, Any]) -> None:
    """Write tensors and numbers, in tuples and lists too; anything else (None: no gradient) is left out."""
    record = {name: [_entry(leaf) for leaf in _leaves(value)] for name, value in named.items()}
    # Python reads back NaN and Infinity as json writes them, and the C++ side writes the same.
    Path(path).write_text(json.dumps(record), encoding="utf-8")


def _leaves(value: Any) -> list[Any]:
    if _is_tensor(value):
        return _strided_parts(value.detach())
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value] if isinstance(value, (bool, int, float)) else []


def _strided_parts(tensor: Any) -> list[Any]:
    """Return plain arrays of numbers of any kind of tensor; a sparse one may be too large to be dense."""
    torch = sys.modules["torch"]
    if tensor.is_nested:
        return [part for each in tensor.unbind() for part in _strided_parts(each)]
    if tensor.is_quantized:
        return [tensor.dequantize()]
    if tensor.layout is torch._mkldnn:
        return [tensor.to_dense()]
    if tensor.layout is not torch.strided:
        sparse = tensor.to_sparse().coalesce()
        return [sparse.indices(), sparse.values()]
    return [tensor]


def _is_tensor(value: Any) -> bool:
    """Whether it is a tensor. Files and other containers of tensors have some of its methods."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _entry(leaf: Any) -> dict[str, Any]:
    if not _is_tensor(leaf):
        return {"shape": [], "values": [float(leaf)]}
    tensor = leaf
    shape = [*tensor.shape, *([2] if tensor.is_complex() else [])]
    if tensor.is_meta:
        return {"shape": shape, "values": []}
    # An odd step reaches every column of a matrix whose row length is a power of two.
    flat = tensor.reshape(-1)[:: -(-tensor.numel() // MOST_VALUES) | 1].cpu()
    if tensor.is_complex():
        return {"shape": shape, "values": [part for value in flat.tolist() for part in (value.real, value.imag)]}
    return {"shape": shape, "values": flat.double().tolist()}
