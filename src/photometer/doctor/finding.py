"""Finding: one fact about the machine, whether it disturbs measurements, and what to do. Examination: all of them."""

from __future__ import annotations

import dataclasses
import enum
from typing import ClassVar

from photometer.doctor.noise_test import NoiseTest


class State(enum.Enum):
    """`NOTE` is worth knowing but needs no action or allows none; `FIX` makes the command return 1."""

    GOOD = "good"
    NOTE = "note"
    FIX = "fix"


@dataclasses.dataclass(frozen=True)
class Finding:
    """`topic` is one or two words that stay the same; `fact` is the observation; `advice` says what to do about it."""

    topic: str
    state: State
    fact: str
    advice: str = ""


@dataclasses.dataclass(frozen=True)
class Examination:
    """All findings in the order in which they are shown, and the noise test if it was taken."""

    KIND: ClassVar[str] = "doctor"

    findings: tuple[Finding, ...]
    noise: NoiseTest | None = None

    def problems(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.state is State.FIX)

    @property
    def is_good(self) -> bool:
        return not self.problems()
