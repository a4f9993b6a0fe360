"""`UnaryOpFuzzer` under the name of torch's package."""

from __future__ import annotations

from photometer.fuzzing.presets.unary import UnaryOpFuzzer

__all__ = ["UnaryOpFuzzer"]
