"""What a comparison of two environments says: one ComparisonResult a benchmark, and all of them together.

Frozen records without text layout. ComparisonResult stands in the results file as kind "comparison"; the samples it
was judged by stand there as "comparison_replicate".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from photometer.analysis.cause import InstructionChange
from photometer.analysis.verdict import Verdict, VerdictWord
from photometer.errors import ResultsFileError
from photometer.model.machine_noise import MachineNoise

KIND = "comparison"
FAILURE_KIND = "comparison_failure"
Outcome = Literal["slower", "failed", "undecided", "fine", "nothing"]
# The order in which a reader wants to see them.
_RANK: dict[str, int] = {"slower": 0, "undecided": 1, "faster": 2, "same": 3}


@dataclass(frozen=True)
class ComparisonResult:
    """One benchmark: the branch against the base."""

    order_id: str
    title: str
    judged: Verdict
    cause: str = ""
    instructions: InstructionChange | None = None
    layout_ratios: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> VerdictWord:
        return self.judged.verdict

    @property
    def ratio(self) -> float:
        return self.judged.ratio

    @property
    def interval(self) -> tuple[float, float]:
        return self.judged.interval

    @property
    def difference_seconds(self) -> float:
        return self.judged.difference_seconds

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "order_id": self.order_id,
            "title": self.title,
            "verdict": self.judged.to_dict(),
            "cause": self.cause,
            "instructions": None if self.instructions is None else self.instructions.to_json(),
            "layout_ratios": list(self.layout_ratios),
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ComparisonResult:
        try:
            instructions = record["instructions"]
            return cls(
                order_id=str(record["order_id"]),
                title=str(record["title"]),
                judged=Verdict.from_dict(record["verdict"]),
                cause=str(record["cause"]),
                instructions=None if instructions is None else InstructionChange.from_json(instructions),
                layout_ratios=tuple(float(ratio) for ratio in record["layout_ratios"]),
                warnings=tuple(str(warning) for warning in record["warnings"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ResultsFileError(f"a comparison that cannot be read: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class ComparisonFailure:
    """A benchmark without a verdict: on which side it failed, and how. `side` is empty where it is not known."""

    order_id: str
    title: str
    side: str
    message: str
    log: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": FAILURE_KIND,
            "order_id": self.order_id,
            "title": self.title,
            "side": self.side,
            "message": self.message,
            "log": self.log,
        }


@dataclass(frozen=True)
class EnvironmentComparison:
    """A whole suite, branch against base. Iterating gives the results, what matters most first."""

    base: str
    branch: str
    suite: str
    results: tuple[ComparisonResult, ...]
    failures: tuple[ComparisonFailure, ...] = ()
    not_reached: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    margin: float = 0.0
    false_discovery_rate: float = 0.0
    measuring_seconds: float = 0.0
    noise: MachineNoise | None = None

    def __iter__(self) -> Iterator[ComparisonResult]:
        return iter(self.by_importance)

    def _repr_html_(self) -> str:
        from photometer.report.notebook import comparison_html

        return comparison_html(self)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def by_importance(self) -> tuple[ComparisonResult, ...]:
        """Slower first, then undecided, faster and same; the largest change first in each."""
        return tuple(sorted(self.results, key=lambda r: (_RANK[r.verdict], -abs(r.ratio - 1.0))))

    def count(self, word: VerdictWord) -> int:
        return sum(result.verdict == word for result in self.results)

    @property
    def verdict(self) -> VerdictWord:
        """Of all together: slower if anything is; same if nothing is left open and nothing changed."""
        if self.count("slower"):
            return "slower"
        if self.count("undecided") or self.not_reached or self.failures or not self.results:
            return "undecided"
        return "faster" if self.count("faster") else "same"

    @property
    def outcome(self) -> Outcome:
        """What an exit code tells."""
        if self.count("slower"):
            return "slower"
        if self.failures:
            return "failed"
        if not self.results and not self.not_reached:
            return "nothing"
        return "undecided" if self.count("undecided") or self.not_reached else "fine"
