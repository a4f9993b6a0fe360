"""Noise of replicates as real machines make it, for simulations: log-ratios of identical sides, a row a comparison."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, int]
Noise = Callable[[np.random.Generator, Shape], NDArray[np.float64]]


def quiet(generator: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    return generator.normal(0.0, 0.0012, shape)


def normal(generator: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    return generator.normal(0.0, 0.003, shape)


def bad_forks(generator: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    """As measured for `x * w`: 0.12 % spread, and in each side one fork in twelve slower by 1 to 2.7 %."""
    noise = generator.normal(0.0, 0.0012, shape)
    for sign in (1.0, -1.0):
        noise += sign * (generator.random(shape) < 0.08) * generator.uniform(0.01, 0.027, shape)
    return noise


def heavy(generator: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    return generator.standard_t(2.0, shape) * 0.003


def bimodal(generator: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    """Two modes 0.6 % apart: each side's clock or core is in one of two states."""
    return generator.normal(0.0, 0.001, shape) + generator.choice((-0.003, 0.003), shape)


def drifting(generator: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    """The spread itself wanders by a factor of four over a comparison: other load comes and goes."""
    wander = np.cumsum(generator.normal(0.0, 0.2, shape), axis=1)
    return generator.normal(0.0, 0.002, shape) * np.exp(np.clip(wander, -0.7, 0.7))


def server_bias(generator: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    """Every six replicates the servers are restarted; each pair of servers has a bias of its own of 0.05 %."""
    restarts = -(-shape[1] // 6)
    bias = np.repeat(generator.normal(0.0, 0.0005, (shape[0], restarts)), 6, axis=1)[:, : shape[1]]
    return bad_forks(generator, shape) + bias


KINDS: dict[str, Noise] = {
    "quiet": quiet,
    "normal": normal,
    "bad_forks": bad_forks,
    "heavy": heavy,
    "bimodal": bimodal,
    "drifting": drifting,
    "server_bias": server_bias,
}
