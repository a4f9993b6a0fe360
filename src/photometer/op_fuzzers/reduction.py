"""`ReductionFuzzer` under the name of torch's package."""

from __future__ import annotations

from photometer.fuzzing.presets.reduction import ReductionFuzzer

__all__ = ["ReductionFuzzer"]
