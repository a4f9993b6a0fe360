"""How long drawing parameter sets takes: ours beside torch's fuzzer, for the presets that both have.

    python benchmarks/fuzzer_draws.py [--sets 10000] [--torch-sets 300]

torch 2.13's check of dict distributions is wrong and stops every preset; it is turned off here so that torch can
be timed. torch has no way to draw parameters alone, so its own drawing method is called without making the
tensors.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module

import numpy as np
import torch.utils.benchmark as torch_benchmark

from photometer.op_fuzzers import PRESETS, make_preset

SHARED = {"unary": "UnaryOpFuzzer", "binary": "BinaryOpFuzzer", "spectral": "SpectralOpFuzzer"}


def our_seconds(name: str, sets: int) -> float:
    fuzzer = make_preset(name, 0)
    start = time.perf_counter()
    drawn = sum(1 for _ in fuzzer.take_params(sets))
    seconds = time.perf_counter() - start
    if drawn != sets:
        raise SystemExit(f"{name}: drew {drawn} sets, not {sets}")
    return seconds


def torch_seconds(name: str, sets: int) -> float:
    module = import_module(f"torch.utils.benchmark.op_fuzzers.{name}")
    fuzzer = getattr(module, SHARED[name])(seed=0)
    state = np.random.RandomState(0)
    start = time.perf_counter()
    for _ in range(sets):
        fuzzer._generate(state)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=10_000)
    parser.add_argument("--torch-sets", type=int, default=300)
    arguments = parser.parse_args()
    torch_benchmark.FuzzedParameter._check_distribution = lambda self, given: given
    print(f"{'preset':14} {'ours, us a set':>15} {'torch, us a set':>16} {'ratio':>6} {f'{arguments.sets} sets':>18}")
    for name in PRESETS:
        ours = our_seconds(name, arguments.sets)
        line = f"{name:14} {ours / arguments.sets * 1e6:15.1f}"
        if name in SHARED:
            theirs = torch_seconds(name, arguments.torch_sets) / arguments.torch_sets
            line += f" {theirs * 1e6:16.1f} {theirs / (ours / arguments.sets):6.1f}"
        else:
            line += f" {'-':>16} {'-':>6}"
        print(f"{line} {ours:16.2f} s")


if __name__ == "__main__":
    main()
