"""Writes what a variant computed as JSON, so that Python, C++, TorchScript and compiled variants can be compared.

Runs in the worker, beside the user's snippet, where photometer itself may be missing: standard library only.
In come named values, out comes {name: [{"shape": […], "values": […]}, …]}, as from photometer_result.h in C++. Of a
large tensor the values are some thousand, evenly spread: JSON of a hundred million would take minutes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# As in photometer_result.h.
MOST_VALUES = 10_000


def write_result(path: str, named: dict[str, Any]) -> None:
    """Tuples and lists are taken apart; None (no gradient) and what is neither tensor nor number leave no entry."""
    record = {name: [_entry(leaf) for leaf in _leaves(value)] for name, value in named.items()}
    # JSON's own spelling of nan and inf (NaN, Infinity) is read back by Python and is what the C++ side writes.
    Path(path).write_text(json.dumps(record), encoding="utf-8")


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value] if isinstance(value, (bool, int, float)) or hasattr(value, "detach") else []


def _entry(leaf: Any) -> dict[str, Any]:
    if not hasattr(leaf, "detach"):
        return {"shape": [], "values": [float(leaf)]}
    tensor = leaf.detach()
    shape = [*tensor.shape, *([2] if tensor.is_complex() else [])]
    # An odd step meets every column of a matrix whose rows are a power of two.
    flat = tensor.reshape(-1)[:: -(-tensor.numel() // MOST_VALUES) | 1].cpu()
    if tensor.is_complex():
        return {"shape": shape, "values": [part for value in flat.tolist() for part in (value.real, value.imag)]}
    return {"shape": shape, "values": flat.double().tolist()}
