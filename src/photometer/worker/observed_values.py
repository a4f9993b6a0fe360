"""Numbers that a statement leaves in its variables, read after each of some runs: own metrics, and marks of phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .figure_messages import Observe, Observed

LARGEST = 1e30


def observe(run_block: Callable[[int], float], variable: Callable[[str], Any], request: Observe) -> Observed:
    """Run it so often; `variable` returns the value that a name has after the last run."""
    for _ in range(request.warmup_runs):
        run_block(1)
    values: list[list[float]] = [[] for _ in request.names]
    for _ in range(request.runs):
        run_block(1)
        for found, name in zip(values, request.names):  # noqa: B905 - Python 3.9 may run this
            found.append(number_in(variable(name), name))
    return Observed(values)


def number_in(value: Any, name: str) -> float:
    """Return a number, or the one element of a tensor, as a float."""
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"the metric {name} is {type(value).__name__}, not a number: {error}") from None
    if not abs(number) <= LARGEST:
        raise ValueError(f"the metric {name} is {number}: not a finite number")
    return number
