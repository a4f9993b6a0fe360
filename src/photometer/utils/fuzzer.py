"""What torch.utils.benchmark.utils.fuzzer offers: random inputs."""

from math import prod

from photometer.fuzzing import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias, dtype_size

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias", "dtype_size", "prod"]
