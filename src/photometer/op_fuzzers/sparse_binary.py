"""`BinaryOpSparseFuzzer` under the name of torch's package."""

from __future__ import annotations

from photometer.fuzzing.presets.sparse_binary import BinaryOpSparseFuzzer

__all__ = ["BinaryOpSparseFuzzer"]
