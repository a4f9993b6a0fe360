"""AbFindings: what one `ab` has found so far, as it is judged and kept."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from photometer.analysis.cause import instruction_change
from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.memory_change import memory_change
from photometer.analysis.ranking import Ranking
from photometer.comparing.ab_request import AbRequest
from photometer.comparing.comparison_file import Destination
from photometer.model.function_counts import FunctionCounts
from photometer.model.instruction_counts import InstructionCounts
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.records import to_record

if TYPE_CHECKING:
    from photometer.model.results_format import Recordable


@dataclasses.dataclass(frozen=True)
class StatementCount:
    """One statement: its counts, in total and by function, and whether they are identical to the first's."""

    counts: InstructionCounts
    functions: FunctionCounts
    is_identical: bool


@dataclasses.dataclass(frozen=True)
class AbFindings:
    """The ranking; counts and memory of each statement, in the order given, if they were measured."""

    request: AbRequest
    ranking: Ranking
    counted: tuple[StatementCount, ...] = ()
    memories: tuple[MemoryMeasurement, ...] = ()

    @property
    def records(self) -> list[Recordable]:
        return [self.ranking, *(each.counts for each in self.counted), *self.memories]

    @property
    def comparison(self) -> EnvironmentComparison:
        """Return it as a comparison of one benchmark, whose sides are the statements: what a gate judges."""
        names = [contender.name for contender in self.request.contenders]
        verdicts = {statement.name: statement.verdict for statement in self.ranking}
        results = []
        for place, name in enumerate(names[1:], start=1):
            verdict = verdicts[name]
            if verdict is not None:
                change = None
                if self.counted:
                    ours, theirs = self.counted[0], self.counted[place]
                    change = instruction_change([ours.counts], [theirs.counts], ours.functions, theirs.functions)
                memory = memory_change(self.memories[0], self.memories[place]) if self.memories else None
                # Of several, a breach says by itself which one it is about.
                title = name if len(names) == 2 else "ab"
                results.append(ComparisonResult("ab", title, verdict, instructions=change, memory=memory, side=place))
        return EnvironmentComparison(tuple(names), "ab", tuple(results), margin=self.request.stopping.criteria.margin)

    def keep(self, destination: Destination) -> None:
        """Write them to a file, a history store, or both."""
        with contextlib.ExitStack() as stack:
            header = self.request.header()
            kept = destination.open(header, stack)
            kept.keep_all(self.records)
            for recorder in kept.recorders.values():
                # A store finds each statement against the first among its comparisons.
                recorder.add_all(comparisons_of(to_record(self.ranking), header))


def comparisons_of(ranking: Mapping[str, Any], header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a record of kind "comparison" for each statement with a verdict against the reference."""
    about = header.get("ab")
    texts = about.get("statements", []) if isinstance(about, Mapping) else []
    setups = about.get("setups", []) if isinstance(about, Mapping) else []
    reference = str(ranking.get("reference", ""))
    found = []
    for statement in ranking.get("statements", ()):
        if not statement.get("verdict"):
            continue
        name = str(statement.get("name", ""))
        # The pair is the same whenever the same two are compared with the same set-ups.
        pair = hashlib.sha256(repr((reference, name, texts, setups)).encode("utf-8", "backslashreplace")).hexdigest()
        found.append(
            {
                "kind": "comparison",
                "order_id": f"ab-{pair[:24]}",
                "title": f"{name} against {reference}",
                "verdict": statement["verdict"],
                "cause": "",
                "order": {"id": f"ab-{pair[:24]}", "label": ["ab", reference, name], "auto": {}},
                "task_spec": {"stmt": name, "setup": str(setups[0]) if setups else "pass"},
            }
        )
    return found
