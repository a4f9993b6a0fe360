"""MachineNoise: what else went on while something was measured: other work, stolen time, a clock that changed."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class MachineNoise:
    """Shares are of the time between the first look and the last. What the machine does not tell is None."""

    others_busy_share: float | None = None
    stolen_share: float | None = None
    lowest_megahertz: float | None = None
    highest_megahertz: float | None = None
    waited_seconds: float = 0.0
