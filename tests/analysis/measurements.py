"""Measurements made to order, for tests of tables."""

from __future__ import annotations

import random

from photometer.model.measurement import Measurement
from photometer.model.task import TaskSpec


def made(
    seconds: float,
    row: str = "r",
    column: str | None = "c",
    *,
    spread: float = 0.01,
    samples: int = 40,
    **fields: object,
) -> Measurement:
    """A measurement with this median (nearly), in this row and column; other fields go into its task spec."""
    source = random.Random(repr((seconds, row, column, fields)))
    times = [seconds * source.gauss(1, spread) for _ in range(samples)]
    spec = {"stmt": "stmt", "setup": "pass", "label": "L", "sub_label": row, "description": column, **fields}
    return Measurement(1, times, TaskSpec(**spec))  # type: ignore[arg-type]
