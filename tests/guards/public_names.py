"""The public names of photometer with their signatures, as text. `scripts/write-public-names` writes it.

A name per line; of a class also its own public methods and properties. What is inherited from outside of photometer,
and addresses in the representation of defaults, are left out: they differ between versions of Python.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import photometer

# `testing` has what triton.testing has.
MODULES = ("photometer", *(f"photometer.{name}" for name in photometer.MODULES))
FILE = Path(__file__).with_name("public_names.txt")


def public_names() -> str:
    """Return one line per public name, method and property, module by module."""
    return "\n".join(line for module in MODULES for line in (module, *_module_lines(module))) + "\n"


def names_in(module: str) -> list[str]:
    """Return the names that a public module offers; `photometer.errors` is its own list."""
    there = importlib.import_module(module)
    listed = getattr(there, "__all__", None)
    if listed is None:
        listed = [name for name, value in vars(there).items() if inspect.isclass(value) and value.__module__ == module]
    return sorted(name for name in listed if not name.startswith("_"))


def _module_lines(module: str) -> Iterator[str]:
    there = importlib.import_module(module)
    for name in names_in(module):
        yield from (f"  {line}" for line in _lines(name, getattr(there, name)))


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
