"""The ready-made fuzzers, and the map that `photometer.fuzz` returns: on which inputs statements are slow."""

from __future__ import annotations

from photometer.analysis.fuzz_map import FuzzMap as FuzzMap
from photometer.fuzzing.fuzzer import PreparedInput as PreparedInput
from photometer.model.fuzz_trial import FuzzTrial as FuzzTrial
from photometer.op_fuzzers import (
    AttentionFuzzer as AttentionFuzzer,
    BinaryOpFuzzer as BinaryOpFuzzer,
    BinaryOpSparseFuzzer as BinaryOpSparseFuzzer,
    ConvolutionFuzzer as ConvolutionFuzzer,
    MatmulFuzzer as MatmulFuzzer,
    ReductionFuzzer as ReductionFuzzer,
    SpectralOpFuzzer as SpectralOpFuzzer,
    UnaryOpFuzzer as UnaryOpFuzzer,
    UnaryOpSparseFuzzer as UnaryOpSparseFuzzer,
)
from photometer.report.fuzz_text import render_fuzz_text as render_fuzz_text
from photometer.report.page.page import render_fuzz_page as render_fuzz_page

__all__ = [
    "AttentionFuzzer",
    "BinaryOpFuzzer",
    "BinaryOpSparseFuzzer",
    "ConvolutionFuzzer",
    "FuzzMap",
    "FuzzTrial",
    "MatmulFuzzer",
    "PreparedInput",
    "ReductionFuzzer",
    "SpectralOpFuzzer",
    "UnaryOpFuzzer",
    "UnaryOpSparseFuzzer",
    "render_fuzz_page",
    "render_fuzz_text",
]
