"""MemoryMeasurement: what one run of a statement allocates, on the CPU and on an accelerator, over several repeats.

In come the figures of each run; out go those that stand for all, and whether all runs agree. Bytes are integers.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar

from photometer.errors import MeasurementError
from photometer.model.records import AtLeast
from photometer.model.task import TaskSpec
from photometer.model.units import format_bytes
from photometer.model.visible_text import visible

Amount = Annotated[int, AtLeast(0)]


@dataclasses.dataclass(frozen=True)
class MemoryFigures:
    """One run: the peak above its start, all its bytes, the number of blocks, and the bytes kept at its end."""

    peak_bytes: Amount
    allocated_bytes: Amount
    allocations: Amount
    kept_bytes: int = 0


@dataclasses.dataclass(frozen=True)
class MemoryMeasurement:
    """Memory of one run. `device_repeats` are the accelerator's; `process_peak_bytes` is in pages and not exact."""

    KIND: ClassVar[str] = "memory"

    task_spec: TaskSpec
    repeats: tuple[MemoryFigures, ...]
    device: str = ""
    device_repeats: tuple[MemoryFigures, ...] = ()
    device_reserved_bytes: Amount | None = None
    process_peak_bytes: Amount | None = None

    def __post_init__(self) -> None:
        if not self.repeats:
            raise MeasurementError("memory needs at least one repeat", remedy="Measure with repeats=1 or more.")

    @property
    def host(self) -> MemoryFigures:
        """The figures on the CPU that most runs have."""
        return most_frequent(self.repeats)

    @property
    def on_device(self) -> MemoryFigures | None:
        """The figures on the accelerator that most runs have."""
        return most_frequent(self.device_repeats) if self.device_repeats else None

    @property
    def main(self) -> MemoryFigures:
        """Where the statement runs: on the accelerator if there is one, otherwise on the CPU."""
        return self.on_device or self.host

    @property
    def peak_bytes(self) -> int:
        """Return the most bytes that are allocated at a time."""
        return self.main.peak_bytes

    @property
    def allocated_bytes(self) -> int:
        """Return all bytes that one run allocates."""
        return self.main.allocated_bytes

    @property
    def allocations(self) -> int:
        """Return the number of blocks that one run allocates."""
        return self.main.allocations

    @property
    def kept_bytes(self) -> int:
        """Return the bytes that are still allocated after a run."""
        return self.main.kept_bytes

    @property
    def is_exact(self) -> bool:
        """Whether all runs allocated the same."""
        return len(set(self.repeats)) == 1 and len(set(self.device_repeats)) <= 1

    def __repr__(self) -> str:
        lines = [f"<photometer.MemoryMeasurement of {len(self.repeats)} runs>", visible(self.task_spec.summarize())]
        if (device := self.on_device) is not None:
            lines.append(f"  {self.device}: {describe(device)}")
            if self.device_reserved_bytes is not None:
                lines.append(f"  {self.device}: {format_bytes(self.device_reserved_bytes)} reserved at most")
        elif self.device:
            lines.append(f"  {self.device}: torch does not report the memory of this device")
        lines.append(f"  {'CPU: ' if self.device else ''}{describe(self.host)}")
        if self.process_peak_bytes is not None:
            lines.append(f"  the process grew by up to {format_bytes(self.process_peak_bytes)} (in whole pages)")
        lines.append(f"  {len(self.repeats)} runs, {'all exactly equal' if self.is_exact else 'not all equal'}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from photometer.report.notebook import memory_html

        return memory_html(self)


def describe(figures: MemoryFigures) -> str:
    """Return `peak 8.0 KiB, allocates 12.0 KiB in 3 blocks, keeps 0 B`."""
    blocks = "1 block" if figures.allocations == 1 else f"{figures.allocations:,} blocks"
    kept = f", keeps {format_bytes(figures.kept_bytes)} more each run" if figures.kept_bytes else ""
    peak, allocated = format_bytes(figures.peak_bytes), format_bytes(figures.allocated_bytes)
    return f"peak {peak}, allocates {allocated} in {blocks}{kept}"


def most_frequent(repeats: Sequence[MemoryFigures]) -> MemoryFigures:
    """Return the most frequent value of the repeats; of several, the last, because values settle with time."""
    counted = Counter(repeats)
    return max(enumerate(repeats), key=lambda place: (counted[place[1]], place[0]))[1]
