"""What torch.utils.benchmark.utils.sparse_fuzzer offers."""

from photometer.fuzzing import FuzzedSparseTensor, FuzzedTensor

__all__ = ["FuzzedSparseTensor", "FuzzedTensor"]
