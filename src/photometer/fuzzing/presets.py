"""The path at which version 0.1 had the ready-made fuzzers: lines in its results files import them from here.

They live in photometer.op_fuzzers.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from photometer import op_fuzzers

    return getattr(op_fuzzers, name)
