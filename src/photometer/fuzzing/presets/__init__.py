"""Ready-made fuzzers, one file each, and their names on the command line.

The first five have the names, the seeds and the draws of `torch.utils.benchmark.op_fuzzers`; the others are new.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from photometer.errors import DefinitionError
from photometer.fuzzing.presets.attention import AttentionFuzzer
from photometer.fuzzing.presets.binary import BinaryOpFuzzer
from photometer.fuzzing.presets.convolution import ConvolutionFuzzer
from photometer.fuzzing.presets.matmul import MatmulFuzzer
from photometer.fuzzing.presets.preset import PresetFuzzer
from photometer.fuzzing.presets.reduction import ReductionFuzzer
from photometer.fuzzing.presets.sparse_binary import BinaryOpSparseFuzzer
from photometer.fuzzing.presets.sparse_unary import UnaryOpSparseFuzzer
from photometer.fuzzing.presets.spectral import SpectralOpFuzzer
from photometer.fuzzing.presets.unary import UnaryOpFuzzer

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
    """The preset of that name; arguments that are None are left to the preset."""
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
    "make_preset",
]
