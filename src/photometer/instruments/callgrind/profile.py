"""CallgrindProfile: one Callgrind output file, read and frozen.

The parser makes it: self costs per function and source file, and the edges of the call graph. A cost is a tuple with
one integer per event of the file (`Ir` first; more with the cache and branch simulations).
"""

from __future__ import annotations

from dataclasses import dataclass

from photometer.errors import MeasurementError

INSTRUCTIONS = "Ir"
"""Callgrind's name for instructions executed ("instruction reads")."""

UNKNOWN = "???"
"""What Callgrind writes if it cannot name a source file, object or function."""


@dataclass(frozen=True)
class Function:
    """A function as Callgrind distinguishes them: by object file, source file and name.

    A name may end in `'2`: Callgrind keeps the recursive activations of a function apart from the first one.
    """

    object_path: str
    file: str
    name: str


@dataclass(frozen=True)
class SelfCost:
    """The cost of the lines of `file` inside `function`; if it is not the function's own file, the code was inlined."""

    function: Function
    file: str
    costs: tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """An edge of the call graph: the number of calls, and their cost with everything below them.

    `count` is zero for a call that was already running when the counters were set to zero.
    """

    caller: Function
    caller_file: str
    callee: Function
    count: int
    costs: tuple[int, ...]


@dataclass(frozen=True)
class CallgrindProfile:
    """Everything in one output file except the line numbers."""

    source: str
    creator: str
    command: str
    pid: int | None
    parts: int
    events: tuple[str, ...]
    totals: tuple[int, ...]
    self_costs: tuple[SelfCost, ...]
    calls: tuple[Call, ...]

    def event_index(self, event: str = INSTRUCTIONS) -> int:
        """Return the index of `event` in every cost tuple of this profile."""
        if event not in self.events:
            raise MeasurementError(
                f"{self.source} has no event {event!r}: it counted {', '.join(self.events)}",
                remedy="Use --cache-sim=yes for cache misses, --branch-sim=yes for mispredicted branches.",
            )
        return self.events.index(event)

    def total(self, event: str = INSTRUCTIONS) -> int:
        """Return the whole file's count of `event`."""
        return self.totals[self.event_index(event)]
