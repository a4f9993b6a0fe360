"""Seed the random numbers of a child before its set-up runs: torch on all devices, Python's `random`, numpy.

torch seeds itself at random in each process, so two sides would compute with different data: a sort takes longer or
shorter, and a branch per element executes different instructions. Standard library and torch only.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .accelerators import is_built

# For counts, memory and everything else that is exact: the same in every process and in every command. It is that of
# suites' grouped definitions (plan/codegen_python.py).
FIXED_SEED = 0
# The seeds that torch, `random` and numpy all take as they are.
LARGEST_SEED = 2**32 - 1

_NUMPY_RANDOM = "numpy.random"


def seed_everything(seed: int | None, torch: Any, *, devices: bool = True) -> None:
    """Seed all generators; None is FIXED_SEED. `torch` may be None, too.

    `devices` are torch's accelerators: none of them is initialised.
    """
    seed = FIXED_SEED if seed is None else seed
    random.seed(seed)
    _seed_numpy(seed)
    if torch is None:
        return
    if devices and is_built(torch):
        # Remembers for a device that is not initialised yet what to do later, with a formatted stack trace: not for a
        # build without any, and not where instructions are counted.
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def _seed_numpy(seed: int) -> None:
    """Seed numpy's generator now if it is there, and otherwise when it is imported.

    Importing torch imports numpy, but not `numpy.random`, which takes longer than a fork. No list is made here: CPython
    would give its place to the first list of the set-up, the same one in every memory layout.
    """
    if _NUMPY_RANDOM in sys.modules:
        sys.modules[_NUMPY_RANDOM].seed(seed)
        return
    SEEDS_NUMPY.seed = seed
    if SEEDS_NUMPY not in sys.meta_path:
        sys.meta_path.insert(0, SEEDS_NUMPY)


class SeedsNumpy:
    """A finder that lets others find `numpy.random`, and seeds its generator as soon as it is imported."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _NUMPY_RANDOM:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            exec_module = loader.exec_module

            def exec_and_seed(module: Any) -> None:
                exec_module(module)
                module.seed(self.seed)

            loader.exec_module = exec_and_seed
        return spec


SEEDS_NUMPY = SeedsNumpy(FIXED_SEED)
