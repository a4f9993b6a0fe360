"""ComparisonSettings: how long to measure, what counts as a change, and what is told beside the verdict."""

from __future__ import annotations

import dataclasses

from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE, DEFAULT_MARGIN, Criteria
from photometer.errors import DefinitionError

# Most verdicts stand after 2 to 4 s of measuring; this is what a suite may spend on each benchmark on average.
BUDGET_SECONDS_PER_BENCHMARK = 10.0
# The frozen layout and two others: enough to see whether a change is the luck of one.
DEFAULT_LAYOUTS = 3


@dataclasses.dataclass(frozen=True)
class ComparisonSettings:
    """`budget_seconds` is for the whole suite, in measuring time; None is ten seconds a benchmark."""

    budget_seconds: float | None = None
    margin: float = DEFAULT_MARGIN
    false_discovery_rate: float = DEFAULT_FALSE_DISCOVERY_RATE
    instructions: bool = True
    layouts: int = DEFAULT_LAYOUTS

    def __post_init__(self) -> None:
        if self.budget_seconds is not None and not self.budget_seconds > 0:
            raise DefinitionError(f"the budget is {self.budget_seconds}", remedy="Give seconds, more than 0.")
        if not 0.0 < self.false_discovery_rate < 1.0:
            raise DefinitionError(
                f"the false discovery rate is {self.false_discovery_rate}", remedy="Give a share such as 0.05."
            )
        if self.layouts < 1:
            raise DefinitionError(f"layouts is {self.layouts}", remedy="Give at least 1.")

    def budget_for(self, benchmarks: int) -> float:
        return BUDGET_SECONDS_PER_BENCHMARK * benchmarks if self.budget_seconds is None else self.budget_seconds

    @property
    def criteria(self) -> Criteria:
        return Criteria(margin=self.margin)
