"""Writes what a variant computed as JSON, so that Python, C++, TorchScript and compiled variants can be compared.

Runs in the worker, beside the user's snippet, where photometer itself may be missing: standard library only.
In come named values, out comes {name: [{"shape": […], "values": […]}, …]}, as from photometer_result.h in C++.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


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
    tensor = leaf.detach().cpu()
    if tensor.is_complex():
        parts = [part for value in tensor.reshape(-1).tolist() for part in (value.real, value.imag)]
        return {"shape": [*tensor.shape, 2], "values": parts}
    return {"shape": list(tensor.shape), "values": tensor.double().reshape(-1).tolist()}
