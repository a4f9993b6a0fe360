"""CompileReport: what torch.compile made of a statement: its time, graphs, graph breaks, recompilations and guards.

Times are of the first call. Cold: nothing of this statement is cached. Warm: a new process finds the first's cache.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, ClassVar

from photometer.model.records import AtLeast, NotNegative
from photometer.model.task import TaskSpec

Amount = Annotated[int, AtLeast(0)]
# Python's name for the statement and set-up of a benchmark in tracebacks and in torch's logs.
SNIPPET = "<photometer snippet"


@dataclasses.dataclass(frozen=True)
class GraphBreak:
    """A place at which torch.compile gave up a graph and began another; `count` if it did so several times."""

    reason: str
    file: str = ""
    line: Amount = 0
    code: str = ""
    hint: str = ""
    count: Amount = 1

    @property
    def place(self) -> str:
        """`model.py:12`; nothing for the benchmark's own code, whose lines are not the user's."""
        return place_of(self.file, self.line)


@dataclasses.dataclass(frozen=True)
class Recompilation:
    """A function that was compiled again, and the guard that had failed."""

    function: str
    reason: str
    file: str = ""
    line: Amount = 0

    @property
    def place(self) -> str:
        return place_of(self.file, self.line)


@dataclasses.dataclass(frozen=True)
class CompileReport:
    """Facts that a version of torch does not provide are None. `swept` says whether other sizes were tried."""

    KIND: ClassVar[str] = "compile_report"

    task_spec: TaskSpec
    graphs: Amount
    compile_seconds: NotNegative | None = None
    warm_compile_seconds: NotNegative | None = None
    breaks: tuple[GraphBreak, ...] = ()
    recompilations: tuple[Recompilation, ...] = ()
    guards: Amount | None = None
    guard_seconds: NotNegative | None = None
    cache_hits: Amount = 0
    cache_misses: Amount = 0
    warm_cache_hits: Amount = 0
    swept: bool = False

    @property
    def break_count(self) -> int:
        return sum(each.count for each in self.breaks)

    def complaints(self, fail_on: tuple[str, ...]) -> list[str]:
        """Return which conditions of `fail_on` ("recompile", "graph-break") it meets, in words."""
        found = []
        if "graph-break" in fail_on and self.breaks:
            found.append("1 graph break" if self.break_count == 1 else f"{self.break_count} graph breaks")
        if "recompile" in fail_on and self.recompilations:
            count = len(self.recompilations)
            found.append("1 recompilation" if count == 1 else f"{count} recompilations")
        return found


def place_of(file: str, line: int) -> str:
    return "" if not file or file.startswith(SNIPPET) else f"{file}:{line}"
