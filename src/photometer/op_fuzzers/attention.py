"""`AttentionFuzzer` under the name of torch's package."""

from __future__ import annotations

from photometer.fuzzing.presets.attention import AttentionFuzzer

__all__ = ["AttentionFuzzer"]
