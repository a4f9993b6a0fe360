"""ProbeOutcome: what one run of a probe left. Execution makes them; the comparison of variants takes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.plan.work_order import WorkOrder

# By variable: the shape and the elements of each tensor in it, as the probes write them.
Values = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclasses.dataclass(frozen=True)
class ProbeOutcome:
    """One order's values, or the reason why there are none. An order that cannot be probed has neither."""

    order: WorkOrder
    values: Values | None = None
    error: str | None = None
