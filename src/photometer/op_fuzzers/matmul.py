"""`MatmulFuzzer` under the name of torch's package."""

from __future__ import annotations

from photometer.fuzzing.presets.matmul import MatmulFuzzer

__all__ = ["MatmulFuzzer"]
