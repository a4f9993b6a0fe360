"""`ConvolutionFuzzer` under the name of torch's package."""

from __future__ import annotations

from photometer.fuzzing.presets.convolution import ConvolutionFuzzer

__all__ = ["ConvolutionFuzzer"]
