"""What torch.utils.benchmark.utils.sparse_fuzzer offers."""

from photometer.fuzzing import FuzzedSparseTensor

__all__ = ["FuzzedSparseTensor"]
