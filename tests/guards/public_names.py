"""The public names of photometer with their signatures, as text. `scripts/write-public-names` writes it.

A name per line; of a class also its own public methods and properties. What is inherited from outside of photometer,
and addresses in the representation of defaults, are left out: they differ between versions of Python.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import photometer

FILE = Path(__file__).with_name("public_names.txt")


def public_names() -> str:
    """Return one line per public name, method and property."""
    return (
        "\n".join(line for name in sorted(photometer._HOME) for line in _lines(name, getattr(photometer, name))) + "\n"
    )


def _lines(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        yield f"{name}{_signature(value)}"
        return
    if issubclass(value, enum.Enum):
        yield f"class {name}: {', '.join(member.name for member in value)}"
        return
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    yield f"class {name}{f' of {bases}' if bases else ''}{_signature(value)}"
    for attribute in sorted(dir(value)):
        if attribute.startswith("_") or not _is_ours(value, attribute):
            continue
        found = inspect.getattr_static(value, attribute)
        if isinstance(found, property):
            yield f"    {attribute}"
        elif callable(getattr(value, attribute)):
            yield f"    {attribute}{_signature(getattr(value, attribute))}"


def _is_ours(owner: type, attribute: str) -> bool:
    holder = next((each for each in owner.__mro__ if attribute in vars(each)), object)
    return holder.__module__.startswith("photometer")


def _signature(value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(…)"
    return re.sub(r"<(\S+).*? at 0x[0-9a-f]+>", r"<\1>", text).replace("'", "")
