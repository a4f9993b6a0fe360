"""Expand `--matrix "torch==2.11.0,2.12.1,2.13.0"` to sides, one per value.

In: the texts of the options, and what all sides have in common. Out: descriptions of sides, in the order typed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from photometer.environments.spec import JOINT
from photometer.errors import EnvironmentSpecError

_REMEDY = 'Write --matrix "torch==2.11.0,2.12.1", "python:3.11,3.12" or "env:NAME=1,2".'
# The common prefix: a kind with its colon, and a name with == or =.
_STEM = re.compile(r"(?:(?:pip|python|git|env|path):)?(?:[^=,]*==?)?")


def matrix_sides(matrices: Sequence[str], common: str | None = None) -> list[str]:
    """Return one side per value; several matrices give every combination, the last one changing fastest."""
    parts = [_values(text) for text in matrices]
    shared = () if common is None else (common,)
    return [JOINT.join((*shared, *combination)) for combination in itertools.product(*parts)]


def _values(text: str) -> list[str]:
    first, *others = [value.strip() for value in text.split(",")]
    found = _STEM.match(first)
    stem = found.group() if found is not None else ""
    values = [first[len(stem) :], *others]
    if not stem or not all(values) or len(values) < 2:
        raise EnvironmentSpecError(f"--matrix {text!r} does not give two values", remedy=_REMEDY)
    if stem.endswith("=") and ":" not in stem and not stem.endswith("=="):
        raise EnvironmentSpecError(f"--matrix {text!r}: {stem!r} is neither a package nor a setting", remedy=_REMEDY)
    kind = "" if re.match(r"(pip|python|git|env|path):", stem) else "pip:"
    return [f"{kind}{stem}{value}" for value in values]
