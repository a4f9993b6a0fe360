"""Ready-made fuzzers, one file per fuzzer, and their names on the command line.

The first five in PRESETS have the modules, names, seeds and draws of `torch.utils.benchmark.op_fuzzers`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from photometer.errors import DefinitionError
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
from photometer.op_fuzzers.attention import AttentionFuzzer
from photometer.op_fuzzers.binary import BinaryOpFuzzer
from photometer.op_fuzzers.convolution import ConvolutionFuzzer
from photometer.op_fuzzers.matmul import MatmulFuzzer
from photometer.op_fuzzers.preset import PresetFuzzer
from photometer.op_fuzzers.reduction import ReductionFuzzer
from photometer.op_fuzzers.sparse_binary import BinaryOpSparseFuzzer
from photometer.op_fuzzers.sparse_unary import UnaryOpSparseFuzzer
from photometer.op_fuzzers.spectral import SpectralOpFuzzer
from photometer.op_fuzzers.unary import UnaryOpFuzzer

PRESETS: Mapping[str, Callable[..., PresetFuzzer]] = {
    "unary": UnaryOpFuzzer,
    "binary": BinaryOpFuzzer,
    "sparse-unary": UnaryOpSparseFuzzer,
    "sparse-binary": BinaryOpSparseFuzzer,
    "spectral": SpectralOpFuzzer,
    "matmul": MatmulFuzzer,
    "reduction": ReductionFuzzer,
    "convolution": ConvolutionFuzzer,
    "attention": AttentionFuzzer,
}


def make_preset(name: str, seed: int | None, **arguments: Any) -> PresetFuzzer:
    """Make the fuzzer of that name; for arguments that are None it uses its own defaults."""
    key = name.replace("_", "-")
    if key not in PRESETS:
        raise DefinitionError(f"There is no fuzzer {name!r}.", remedy=f"Choose one of {', '.join(PRESETS)}.")
    preset = PRESETS[key]
    given = {argument: value for argument, value in arguments.items() if value is not None}
    known = set(inspect.signature(preset).parameters)
    unknown = sorted(set(given) - known)
    if unknown:
        raise DefinitionError(
            f"The fuzzer {name!r} does not take {', '.join(unknown)}.",
            remedy=f"It takes {', '.join(sorted(known))}.",
        )
    return preset(seed=seed, **given)


__all__ = [
    "PRESETS",
    "AttentionFuzzer",
    "BinaryOpFuzzer",
    "BinaryOpSparseFuzzer",
    "ConvolutionFuzzer",
    "MatmulFuzzer",
    "PresetFuzzer",
    "ReductionFuzzer",
    "SpectralOpFuzzer",
    "UnaryOpFuzzer",
    "UnaryOpSparseFuzzer",
    "attention",
    "binary",
    "convolution",
    "make_preset",
    "matmul",
    "reduction",
    "sparse_binary",
    "sparse_unary",
    "spectral",
    "unary",
]
