"""`SpectralOpFuzzer` under the name of torch's package."""

from __future__ import annotations

from photometer.fuzzing.presets.spectral import SpectralOpFuzzer

__all__ = ["SpectralOpFuzzer"]
