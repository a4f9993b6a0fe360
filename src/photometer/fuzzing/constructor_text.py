"""The Python text of a constructor call, so that a printed specification can be pasted and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def constructor_text(
    name: str, positional: Sequence[Any], keywords: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> str:
    """`Name(positional, key=value)` without the keywords that are None or have their default value."""
    known = defaults or {}
    parts = [repr(value) for value in positional]
    parts += [f"{key}={value!r}" for key, value in keywords.items() if value is not None and value != known.get(key)]
    return f"{name}({', '.join(parts)})"
