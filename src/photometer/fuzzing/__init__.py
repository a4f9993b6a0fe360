"""What an author samples: random inputs for benchmarks that can be had again, by seed and index.

    parameters ──> candidate ──constraints, limits──> params ──> tensors

Names and draws agree with `torch.utils.benchmark`'s; `photometer.fuzzing.presets` has ready-made ones.
"""

from __future__ import annotations

from photometer.fuzzing.element_type import dtype_size
from photometer.fuzzing.fuzzer import Fuzzer
from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.parameter_alias import ParameterAlias
from photometer.fuzzing.sparse_tensor import FuzzedSparseTensor
from photometer.fuzzing.tensor import FuzzedTensor

__all__ = ["FuzzedParameter", "FuzzedSparseTensor", "FuzzedTensor", "Fuzzer", "ParameterAlias", "dtype_size"]
