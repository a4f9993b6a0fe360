"""Random inputs for benchmarks, the same ones for the same seed and index.

    parameters ──> candidate ──constraints, limits──> params ──> tensors

Names and draws agree with those of `torch.utils.benchmark`; `photometer.op_fuzzers` has ready-made fuzzers.
"""

from __future__ import annotations

from photometer.fuzzing.element_type import dtype_size
from photometer.fuzzing.fuzzer import Fuzzer
from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.sparse_tensor import FuzzedSparseTensor
from photometer.fuzzing.tensor import FuzzedTensor

__all__ = ["FuzzedParameter", "FuzzedSparseTensor", "FuzzedTensor", "Fuzzer", "ParameterAlias", "dtype_size"]
