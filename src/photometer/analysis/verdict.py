"""Verdict: what a comparison of two sides says, always of the second against the first.

A frozen record with nothing of text layout or colour in it, and its way to JSON and back. ``judge`` makes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from photometer.errors import ResultsFileError

VerdictWord = Literal["slower", "faster", "same", "undecided"]
VERDICT_WORDS: tuple[VerdictWord, ...] = get_args(VerdictWord)


@dataclass(frozen=True)
class DetectableChange:
    """Smallest relative change that would be called four times in five: now, and with two and four times the time."""

    now: float
    twice_the_time: float
    four_times_the_time: float


@dataclass(frozen=True)
class Verdict:
    """The second side against the first: ``ratio`` 1.01 is one per cent slower.

    ``interval`` holds the true ratio with probability ``confidence`` at all looks together; an end may be 0 or
    infinite while there are too few replicates. ``p`` and ``log_evidence`` are valid at any stopping time:
    ``log_evidence`` is the log of an e-value, which is what a suite's correction takes.
    """

    verdict: VerdictWord
    ratio: float
    interval: tuple[float, float]
    difference_seconds: float
    difference_interval_seconds: tuple[float, float]
    base_seconds: float
    p: float
    log_evidence: float
    replicates: int
    margin: float
    confidence: float
    false_alarm: float
    paired: bool
    detectable: DetectableChange | None
    reason: str
    notes: tuple[str, ...] = ()

    @property
    def decided(self) -> bool:
        return self.verdict != "undecided"

    def _repr_html_(self) -> str:
        from photometer.report.notebook import verdict_html

        return verdict_html(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: an infinite end is null, for JSON has no infinity."""
        detectable = self.detectable
        return {
            "verdict": self.verdict,
            "ratio": self.ratio,
            "interval": [_finite(end) for end in self.interval],
            "difference_seconds": self.difference_seconds,
            "difference_interval_seconds": [_finite(end) for end in self.difference_interval_seconds],
            "base_seconds": self.base_seconds,
            "p": self.p,
            "log_evidence": self.log_evidence,
            "replicates": self.replicates,
            "margin": self.margin,
            "confidence": self.confidence,
            "false_alarm": self.false_alarm,
            "paired": self.paired,
            "detectable": None
            if detectable is None
            else {
                "now": _finite(detectable.now),
                "twice_the_time": _finite(detectable.twice_the_time),
                "four_times_the_time": _finite(detectable.four_times_the_time),
            },
            "reason": self.reason,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """The inverse of ``to_dict``; what is missing or of another kind is named."""
        try:
            word = data["verdict"]
            if word not in VERDICT_WORDS:
                raise ValueError(f"{word!r} is none of {', '.join(VERDICT_WORDS)}")
            detectable = data["detectable"]
            return cls(
                verdict=word,
                ratio=float(data["ratio"]),
                interval=_ends(data["interval"]),
                difference_seconds=float(data["difference_seconds"]),
                difference_interval_seconds=_ends(data["difference_interval_seconds"]),
                base_seconds=float(data["base_seconds"]),
                p=float(data["p"]),
                log_evidence=float(data["log_evidence"]),
                replicates=int(data["replicates"]),
                margin=float(data["margin"]),
                confidence=float(data["confidence"]),
                false_alarm=float(data["false_alarm"]),
                paired=bool(data["paired"]),
                detectable=None
                if detectable is None
                else DetectableChange(
                    now=_infinite(detectable["now"]),
                    twice_the_time=_infinite(detectable["twice_the_time"]),
                    four_times_the_time=_infinite(detectable["four_times_the_time"]),
                ),
                reason=str(data["reason"]),
                notes=tuple(str(note) for note in data["notes"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ResultsFileError(
                f"A verdict in the file cannot be read: {type(error).__name__}: {error}.",
                remedy="Write the file again with this version of photometer.",
            ) from error


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _infinite(value: float | None) -> float:
    return math.inf if value is None else float(value)


def _ends(ends: Any) -> tuple[float, float]:
    low, high = ends
    return (-math.inf if low is None else float(low), math.inf if high is None else float(high))
