"""Match names in pyproject.toml and commit messages with benchmarks: one, a group of them, or a pattern."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from photometer.model.visible_text import visible_line

# Labels are shown as `rung › plain tensor`; a slash is easier to type.
_JOINT = re.compile(r"\s*[›/]\s*")
_VARIANT = re.compile(r" \[[^\[\]]*\]$")


def plain_name(title: str) -> str:
    """Return the name as users type it: labels separated by slashes, on one line."""
    return " ".join(_JOINT.sub("/", visible_line(title)).split())


def names_benchmark(pattern: str, title: str) -> bool:
    """Return whether `pattern` matches the benchmark: its name with or without the variant, its group, or `add*`."""
    wanted, whole = plain_name(pattern), plain_name(title)
    for name in (whole, _VARIANT.sub("", whole)):
        # First literally: titles contain brackets, which are special in a pattern.
        if wanted == name or name.startswith(f"{wanted}/") or fnmatchcase(name, wanted):
            return True
    return False
