"""What `ab` is asked to compare (AbRequest), and what it has found so far (AbFindings), as it is judged and kept.

An AbRequest is complete and checked. The function `ab` and the command both make one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from photometer.analysis.cause import instruction_change
from photometer.analysis.comparison_result import ComparisonResult, EnvironmentComparison
from photometer.analysis.figure_change import memory_change
from photometer.analysis.ranking import Ranking
from photometer.comparing.comparison_file import Destination
from photometer.model.instruction_counts import FunctionCounts, InstructionCounts
from photometer.model.memory_measurement import MemoryMeasurement
from photometer.model.records import to_record
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from photometer.model.results_format import Recordable

import uuid

from photometer.analysis.judge import Criteria, default_margin
from photometer.comparing.contenders import Contender
from photometer.comparing.device_statements import DeviceSettings
from photometer.comparing.rank import Stopping
from photometer.errors import DefinitionError
from photometer.model.machine import Environment
from photometer.model.task import Language

# Seconds per statement after the first.
DEFAULT_BUDGET_SECONDS = 10.0
# An accelerator's clock is steadier than a host's: most verdicts are final after a second.
DEFAULT_DEVICE_BUDGET_SECONDS = 5.0


@dataclasses.dataclass(frozen=True)
class AbRequest:
    """What to compare, and how; `device` is set to compare times on an accelerator."""

    contenders: tuple[Contender, ...]
    stopping: Stopping
    language: Language = Language.PYTHON
    global_setup: str = ""
    num_threads: int = 1
    device: DeviceSettings | None = None
    environment: Environment | None = None
    seed: int | None = None
    # How many processes run each statement together; 0 if it needs no group.
    ranks: int = 0
    # For a statement that does not come back; one in this very process cannot be given up.
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    id: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex, compare=False)

    def __post_init__(self) -> None:
        needs_objects = self.needs_this_process
        if not self.timeout_seconds > 0:
            raise DefinitionError(f"the timeout is {self.timeout_seconds}", remedy="Give seconds, greater than 0.")
        if self.language is Language.PYTHON and self.global_setup:
            raise DefinitionError("global_setup is for C++ only", remedy="Move it into `setup`.")
        if self.language is Language.CPP and needs_objects:
            raise DefinitionError("callables and globals are Python", remedy="Give the C++ statements as text.")
        if self.ranks and (needs_objects or self.device is not None or self.language is Language.CPP):
            raise DefinitionError(
                "a group of ranks runs Python given as text, and the host keeps its time",
                remedy="Give the statements as text with their set-up, without `device` and `language`.",
            )
        if self.environment is not None and (needs_objects or self.device is not None):
            raise DefinitionError(
                "callables, globals and device time are measured in this process, not in another environment",
                remedy="Give the statements as text, or leave `environment` out.",
            )

    @property
    def needs_this_process(self) -> bool:
        """Return whether a statement uses objects of this process: callables, globals."""
        return any(contender.names for contender in self.contenders)

    @property
    def is_on_device_here(self) -> bool:
        """Return whether an accelerator times the statements in this process: Python; C++ has a child."""
        return self.device is not None and self.language is Language.PYTHON

    def header(self) -> dict[str, dict[str, Any]]:
        """Return the header of a results file."""
        return {
            "ab": {
                # The same wherever results are kept, so that a store that also gets the file has them once.
                "id": self.id,
                "statements": [contender.stmt for contender in self.contenders],
                "setups": [contender.setup for contender in self.contenders],
                "language": self.language.name.lower(),
                "num_threads": self.num_threads,
                **({"ranks": self.ranks} if self.ranks else {}),
            }
        }


def default_budget(statements: int, device: str | None = None) -> float:
    each = DEFAULT_BUDGET_SECONDS if device is None else DEFAULT_DEVICE_BUDGET_SECONDS
    return each * max(statements - 1, 1)


def criteria_for(margin: float | None, num_threads: int) -> Criteria:
    return Criteria(margin=default_margin(num_threads) if margin is None else margin)


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
        """Return the findings as a comparison of one benchmark, whose sides are the statements, for the gate."""
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
        """Write the findings to a file, a history store, or both."""
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
