"""`UnaryOpSparseFuzzer` under the name of torch's package."""

from __future__ import annotations

from photometer.fuzzing.presets.sparse_unary import UnaryOpSparseFuzzer

__all__ = ["UnaryOpSparseFuzzer"]
