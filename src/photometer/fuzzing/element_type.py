"""The names and sizes of torch's element types, known without importing torch.

In comes a `torch.dtype` or its name; out comes the bare name ("float32"), the size of one element in bytes, or the
dtype itself.
"""

from __future__ import annotations

from typing import Any

from photometer.errors import DefinitionError

_BYTES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "uint16": 2,
    "int16": 2,
    "uint32": 4,
    "int32": 4,
    "uint64": 8,
    "int64": 8,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
}
_OTHER_NAMES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64"}
DEFAULT_DTYPE = "float32"


def dtype_name(dtype: Any) -> str:
    """Return the name without "torch."; None means the default, float32."""
    name = str(DEFAULT_DTYPE if dtype is None else dtype).removeprefix("torch.")
    name = _OTHER_NAMES.get(name, name)
    # A dtype object newer than the table has its own size; a mistyped name does not.
    if name not in _BYTES and not hasattr(dtype, "itemsize"):
        raise DefinitionError(f"Unknown dtype {dtype!r}.", remedy=f"Give a torch.dtype or one of {', '.join(_BYTES)}.")
    return name


def dtype_size(dtype: Any) -> int:
    """Return the bytes of one element: both parts of a complex one (torch's function of this name counts one)."""
    name = dtype_name(dtype)
    return _BYTES[name] if name in _BYTES else int(dtype.itemsize)


def torch_dtype(dtype: Any) -> Any:
    """Return the `torch.dtype` itself."""
    import torch

    return getattr(torch, dtype_name(dtype))
