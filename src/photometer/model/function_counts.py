"""FunctionCounts: instructions executed in each function, and torch.utils.benchmark's algebra on them.

In comes one count per function, each function as `file:function [object]`; out go sums, differences and selections,
sorted with the largest count first. Nothing here knows Callgrind.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple, overload

from photometer.errors import MeasurementError
from photometer.model.records import Key

SHOWN_ROWS = 18
"""As many rows as leave room for a prompt on a terminal of 24 lines."""

_SMALLEST_NAME_WIDTH = 40
_ELLIPSIS = " ... "

NOISY_FUNCTION = "dictobject.c:lookdict_unicode"
"""What torch's `denoise` takes away: CPython's look-up of names, whose collisions depend on the hash seed.

CPython 3.11 and later have no function of exactly this name, so `denoise` takes nothing away there, as in torch.
"""


class FunctionCount(NamedTuple):
    """A count and the function it belongs to."""

    # A tuple, because callers write `for count, function in counts`.

    count: int  # type: ignore[assignment]  # torch's field name hides tuple.count
    function: str


@dataclass(frozen=True, repr=False, eq=False)
class FunctionCounts:
    """Counts of functions, largest first. `inclusive` counts hold those of the functions called as well."""

    _data: Annotated[tuple[FunctionCount, ...], Key("functions")]
    inclusive: bool
    truncate_rows: bool = True
    _linewidth: Annotated[int | None, Key("linewidth")] = None

    @classmethod
    def from_mapping(cls, counts: Mapping[str, int], *, inclusive: bool) -> FunctionCounts:
        """Return one row per function, without those whose count is zero."""
        rows = (FunctionCount(count, function) for function, count in counts.items() if count)
        return cls(tuple(sorted(rows, reverse=True)), inclusive)

    def __iter__(self) -> Iterator[FunctionCount]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    @overload
    def __getitem__(self, item: int) -> FunctionCount: ...

    @overload
    def __getitem__(self, item: slice) -> FunctionCounts: ...

    def __getitem__(self, item: int | slice) -> FunctionCount | FunctionCounts:
        """Return a row by its place, or a FunctionCounts of some rows (which then prints all of them)."""
        if isinstance(item, slice):
            return FunctionCounts(self._data[item], self.inclusive, truncate_rows=False)
        return self._data[item]

    def __add__(self, other: FunctionCounts) -> FunctionCounts:
        return self._combined(other, +1)

    def __sub__(self, other: FunctionCounts) -> FunctionCounts:
        return self._combined(other, -1)

    def __mul__(self, factor: int | float) -> FunctionCounts:
        """Return every count times `factor`, cut to an integer: `counts * (1 / 100)` are counts per run."""
        return self.from_mapping(_summed((int(c * factor), f) for c, f in self), inclusive=self.inclusive)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionCounts):
            return NotImplemented
        return self.inclusive == other.inclusive and self._data == other._data

    def __hash__(self) -> int:
        return hash((self.inclusive, self._data))

    def __repr__(self) -> str:
        width = max((len(str(count)) for count, _ in self), default=0)
        line_width = self._linewidth or shutil.get_terminal_size().columns
        name_width = max(line_width - width - 4, _SMALLEST_NAME_WIDTH)
        rows = [f"  {count:>{width}}  {_shortened(function, name_width)}" for count, function in self]
        if self.truncate_rows and len(rows) > SHOWN_ROWS:
            half = SHOWN_ROWS // 2
            rows = [*rows[:half], "...".rjust(width + 2), *rows[-half:]]
        kind = "inclusive" if self.inclusive else "exclusive"
        plural = "" if len(self) == 1 else "s"
        head = f"<photometer.{type(self).__qualname__}: {len(self)} function{plural}, {kind}>"
        # The sum of inclusive counts counts everything once for each caller, so it would mean nothing.
        foot = [] if self.inclusive else ["", f"Total: {self.sum()}"]
        return "\n".join([head, *rows, *foot])

    def transform(self, map_fn: Callable[[str], str]) -> FunctionCounts:
        """Rename every function; those that get the same name are added together."""
        return self.from_mapping(_summed((c, map_fn(f)) for c, f in self), inclusive=self.inclusive)

    def filter(self, filter_fn: Callable[[str], bool]) -> FunctionCounts:
        """Return only the functions for whose name `filter_fn` is true."""
        return FunctionCounts(tuple(row for row in self if filter_fn(row.function)), self.inclusive)

    def sum(self) -> int:
        """Return the sum of all counts: the instructions of the whole run if counts are exclusive."""
        return sum(count for count, _ in self)

    def denoise(self) -> FunctionCounts:
        """Return the counts without CPython's dictionary look-up by name (see NOISY_FUNCTION), as torch does it.

        For a count that does not depend on the memory layout, see InstructionCounts.outside_allocator.
        """
        return self.filter(lambda function: NOISY_FUNCTION not in function)

    def _combined(self, other: FunctionCounts, sign: int) -> FunctionCounts:
        if self.inclusive != other.inclusive:
            raise MeasurementError(
                "Inclusive and exclusive counts cannot be combined: they count different things.",
                remedy="Take both from stats(inclusive=True) or both from stats(inclusive=False).",
            )
        counts = _summed(self)
        for count, function in other:
            counts[function] += sign * count
        return self.from_mapping(counts, inclusive=self.inclusive)


def _summed(rows: Iterable[tuple[int, str]]) -> defaultdict[str, int]:
    counts: defaultdict[str, int] = defaultdict(int)
    for count, function in rows:
        counts[function] += count
    return counts


def _shortened(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    left = (width - len(_ELLIPSIS)) // 2
    right = width - len(_ELLIPSIS) - left
    return text[:left] + _ELLIPSIS + text[-right:]
