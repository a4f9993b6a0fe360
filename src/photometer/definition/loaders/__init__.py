"""Suites that were written for other tools, read as photometer's suites: one module per tool, by the name's prefix.

In: `asv:benchmarks`, `operator_benchmark:pt/add_test.py`, `triton:bench.py`. Out: a Suite whose set-ups import the
user's own modules. Its `folders` must be on the path of every process that runs it; its `notes` say what was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from photometer.definition.loaders.asv import load_asv
from photometer.definition.loaders.operator_benchmark import load_operator_benchmark
from photometer.definition.loaders.triton import load_triton
from photometer.definition.suite import Suite

LOADERS: Mapping[str, Callable[[Path, str], Suite]] = {
    "asv": load_asv,
    "operator_benchmark": load_operator_benchmark,
    "triton": load_triton,
}
"""By prefix: what takes the file or folder, and the whole name as the user wrote it."""


def load_by_prefix(spec: str) -> Suite | None:
    """Return the suite of another tool that `spec` names; None if it has no known prefix."""
    prefix, colon, place = spec.partition(":")
    if not colon or prefix not in LOADERS:
        return None
    return LOADERS[prefix](Path(place or "."), spec)
