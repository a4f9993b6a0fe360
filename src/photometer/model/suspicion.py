"""Suspicion: one reason to doubt a measurement, and what to do about it. Data, not text on a terminal."""

from __future__ import annotations

import dataclasses
import enum


class SuspicionKind(enum.Enum):
    WIDE_SPREAD = "wide-spread"
    DRIFT = "drift"
    SEVERAL_MODES = "several-modes"
    WARMING_UP = "warming-up"
    TOO_FEW_RUNS = "too-few-runs"
    COARSE_CLOCK = "coarse-clock"
    BUSY_CORE = "busy-core"
    MAY_DO_NOTHING = "may-do-nothing"


_REMEDIES = {
    SuspicionKind.WIDE_SPREAD: "Close what else runs on the machine, or compare medians of several runs.",
    SuspicionKind.DRIFT: "Measure longer, or let the machine settle: clock or temperature may be moving.",
    SuspicionKind.SEVERAL_MODES: "Look at the histogram: a median of two modes means little. Pin the process.",
    SuspicionKind.WARMING_UP: "Measure longer (min_run_time), or run the statement in setup until it is warm.",
    SuspicionKind.TOO_FEW_RUNS: "Use blocked_autorange, or a longer min_run_time: then there is a spread to judge by.",
    SuspicionKind.COARSE_CLOCK: "Give a larger `number`, or let blocked_autorange choose it.",
    SuspicionKind.BUSY_CORE: "Stop the other work, or pin this process to a free core (taskset -c).",
    SuspicionKind.MAY_DO_NOTHING: "Check that the statement does what you mean.",
}


@dataclasses.dataclass(frozen=True)
class Suspicion:
    kind: SuspicionKind
    message: str

    @property
    def remedy(self) -> str:
        return _REMEDIES[self.kind]

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"
