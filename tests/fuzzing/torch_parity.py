"""Draws from torch's own fuzzer, beside ours.

torch 2.13 rejects every dict distribution that sums to one. `repaired_torch` turns that check off, so that the
rest of its code draws as it was meant to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.utils.benchmark as torch_benchmark


@contextmanager
def repaired_torch() -> Iterator[None]:
    with mock.patch.object(torch_benchmark.FuzzedParameter, "_check_distribution", lambda self, given: given):
        yield


def torch_params(fuzzer: Any, count: int) -> list[dict[str, Any]]:
    """The parameters of torch's fuzzer without its tensors, using the stream as `take` does."""
    state = np.random.RandomState(fuzzer._seed)
    state.randint(0, 2**63, dtype=np.int64)
    drawn = []
    for _ in range(count):
        params = fuzzer._generate(state)
        for tensor in fuzzer._tensors:
            if isinstance(tensor, torch_benchmark.FuzzedSparseTensor):
                continue
            dim = len(tensor._get_size_and_steps(params)[0])
            if state.rand() > tensor._probability_contiguous:
                while dim > 1 and np.all(state.permutation(dim) == np.arange(dim)):
                    pass
        drawn.append(params)
    return drawn


def assert_same_tensor(ours: Any, theirs: Any) -> None:
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    if ours.layout == torch.sparse_coo:
        assert ours.is_coalesced() == theirs.is_coalesced()
        assert torch.equal(ours._indices(), theirs._indices())
        assert torch.equal(ours._values(), theirs._values())
    else:
        assert ours.stride() == theirs.stride()
        assert torch.equal(ours, theirs)


def assert_same_inputs(ours: Any, theirs: Any) -> None:
    """Two (tensors, properties, params), equal to the bit."""
    assert ours[2] == theirs[2]
    assert list(ours[2]) == list(theirs[2])
    assert ours[0].keys() == theirs[0].keys()
    for name in ours[0]:
        assert_same_tensor(ours[0][name], theirs[0][name])
        assert ours[1][name].keys() == theirs[1][name].keys()
        for key, value in ours[1][name].items():
            assert np.array_equal(value, theirs[1][name][key]), (name, key)
