"""`BinaryOpFuzzer` under the name of torch's package."""

from __future__ import annotations

from photometer.fuzzing.presets.binary import BinaryOpFuzzer

__all__ = ["BinaryOpFuzzer"]
