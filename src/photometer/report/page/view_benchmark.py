"""BenchmarkView: all that the page says of one benchmark of a run, as plain frozen values.

`benchmarks_from` (records_of_run.py) makes them from the records of results files; `page_data` writes them down.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence

Stack = tuple[tuple[str, ...], int]
FunctionRow = tuple[float, str]

# What most benchmarks are: a row names only what sets it apart. They can be filtered by all the same.
USUAL_WORDS = ("eager", "forward", "1 thread")


@dataclasses.dataclass(frozen=True)
class WarningView:
    """A reason to doubt, and what to do about it."""

    message: str
    remedy: str = ""


@dataclasses.dataclass(frozen=True)
class CodeView:
    """The code as it ran."""

    stmt: str
    setup: str = ""
    global_setup: str = ""
    language: str = "python"


@dataclasses.dataclass(frozen=True)
class TimeView:
    """Wall time: seconds per run of each block, in the order measured, and what they say."""

    samples: tuple[float, ...]
    median: float
    interval: tuple[float, float]
    digits: int
    runs_per_block: int
    blocks: int

    @property
    def is_thinned(self) -> bool:
        """Whether the page has fewer samples than were taken."""
        return len(self.samples) < self.blocks


@dataclasses.dataclass(frozen=True)
class CountView:
    """Instructions of one run; `functions`, `stacks` and `executed` (all of them) are for all runs of a repeat."""

    total: float
    outside_allocator: float
    allocator_calls: float
    is_exact: bool
    repeats: int
    runs: int = 1
    executed: int = 0
    functions: tuple[FunctionRow, ...] = ()
    stacks: tuple[Stack, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class DeviceModeView:
    """A row of a device measurement: a time with its interval, or why there is none."""

    name: str
    median: float | None
    interval: tuple[float, float] | None
    source: str
    absent_because: str = ""


@dataclasses.dataclass(frozen=True)
class DeviceView:
    """What the statement costs on an accelerator."""

    device: str
    bound: str
    modes: tuple[DeviceModeView, ...]
    kernels: tuple[tuple[str, float, float], ...] = ()
    added_bytes: int | None = None


@dataclasses.dataclass(frozen=True)
class BenchmarkView:
    """`path` is the label from the group down; `words` set the variant apart and are what tags filter by."""

    id: str
    path: tuple[str, ...]
    words: tuple[str, ...]
    code: CodeView
    time: TimeView | None = None
    counts: CountView | None = None
    device: DeviceView | None = None
    warnings: tuple[WarningView, ...] = ()
    source: str = ""

    @property
    def group(self) -> str:
        return self.path[0] if len(self.path) > 1 else ""

    @property
    def name(self) -> str:
        return " › ".join(self.path[1:] if len(self.path) > 1 else self.path)


@dataclasses.dataclass(frozen=True)
class SkipView:
    """Something that was asked for and has no result."""

    title: str
    reason: str
    log: str = ""


def content_id(parts: Sequence[object]) -> str:
    """A link that stays valid: of what the benchmark is, not of where it stands in a file."""
    text = json.dumps(parts, ensure_ascii=True, default=str)
    return "b-" + hashlib.sha256(text.encode()).hexdigest()[:12]
