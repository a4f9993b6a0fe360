"""The presets of `photometer.fuzzing.presets` under the name they have in torch, for code that imports them so."""

from __future__ import annotations

from photometer.op_fuzzers import (
    attention,
    binary,
    convolution,
    matmul,
    reduction,
    sparse_binary,
    sparse_unary,
    spectral,
    unary,
)

__all__ = [
    "attention",
    "binary",
    "convolution",
    "matmul",
    "reduction",
    "sparse_binary",
    "sparse_unary",
    "spectral",
    "unary",
]
