"""ComparisonReplicate: all blocks of one replicate of a live comparison, as a results file keeps them.

Whole nanoseconds of each block: exact beside the clock, a third of the text of a float, and the same numbers (hence the
same verdict) when a comparison is resumed from its file. A history store keeps a comparison by its two commits, and
older readers know two sides: `header_of_side` and `records_of_side` give each side with the reference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from photometer.errors import MeasurementError
from photometer.model.records import NotNegative, Positive, from_record, to_record


@dataclasses.dataclass(frozen=True)
class ComparisonReplicate:
    """Neighbouring blocks of two or more sides. `layout` 0 is the frozen one; others show what the memory layout does.

    `places` are the positions of the sides, if they are not 0 and 1; the first two have names from the time when there
    were no others.
    """

    KIND: ClassVar[str] = "comparison_replicate"

    order_id: str
    runs_per_block: Positive
    base_block_nanoseconds: tuple[Positive, ...]
    branch_block_nanoseconds: tuple[Positive, ...]
    measuring_seconds: NotNegative
    whole_seconds: NotNegative
    layout: int = 0
    more_block_nanoseconds: tuple[tuple[Positive, ...], ...] = ()
    places: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len({len(blocks) for blocks in self._blocks}) > 1:
            raise MeasurementError("a replicate has more blocks of one side than of the other")
        if self.places and len(self.places) != len(self._blocks):
            raise MeasurementError("a replicate does not say of each side which one it is")

    @classmethod
    def from_seconds(
        cls,
        order_id: str,
        runs_per_block: int,
        seconds_per_run: Mapping[int, Sequence[float]],
        *,
        measuring_seconds: float,
        whole_seconds: float,
        layout: int = 0,
    ) -> ComparisonReplicate:
        """Return the record of seconds per run, by the position of the side."""
        base, branch, *more = (_nanoseconds(seconds, runs_per_block) for seconds in seconds_per_run.values())
        places = tuple(seconds_per_run)
        return cls(
            order_id,
            runs_per_block,
            base,
            branch,
            round(measuring_seconds, 6),
            round(whole_seconds, 6),
            layout,
            tuple(more),
            () if places == (0, 1) else places,
        )

    @property
    def seconds_per_run(self) -> dict[int, tuple[float, ...]]:
        """Return the seconds per run of each side's blocks, by its position."""
        scale = 1e9 * self.runs_per_block
        places = self.places or (0, 1)
        return {
            place: tuple(block / scale for block in blocks) for place, blocks in zip(places, self._blocks, strict=True)
        }

    def of_side(self, side: int) -> ComparisonReplicate | None:
        """Return the blocks of one side and the reference alone; None if the side has none."""
        by_place = dict(zip(self.places or (0, 1), self._blocks, strict=True))
        if side not in by_place or 0 not in by_place:
            return None
        return dataclasses.replace(
            self,
            base_block_nanoseconds=by_place[0],
            branch_block_nanoseconds=by_place[side],
            more_block_nanoseconds=(),
            places=(),
        )

    @property
    def _blocks(self) -> tuple[tuple[int, ...], ...]:
        return (self.base_block_nanoseconds, self.branch_block_nanoseconds, *self.more_block_nanoseconds)


def _nanoseconds(seconds_per_run: Sequence[float], runs: int) -> tuple[int, ...]:
    # A clock that stood still gives a block of zero seconds, which nothing can be divided by.
    return tuple(max(round(seconds * runs * 1e9), 1) for seconds in seconds_per_run)


HEADER_NAME = "comparison"
# Records of one side. They have its position, unless there are only two.
_WITHOUT_VERDICT = frozenset({"comparison_failure", "comparison_skip"})
_OF_A_SIDE = frozenset({"comparison", "comparison_stacks", "comparison_metric"})
_POSITION = ("side", "before", "step")


def sides_in(header: Mapping[str, Any]) -> int:
    """Return how many sides a comparison has, by its header; 0 if it is none."""
    about = header.get(HEADER_NAME)
    if not isinstance(about, Mapping):
        return 0
    sides = about.get("sides")
    return len(sides) if isinstance(sides, list) else 2


def described(description: Mapping[str, Any], sides: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the header's part on a comparison: two sides are the base and the branch, more are a list."""
    named = {"base": sides[0], "branch": sides[1]} if len(sides) == 2 else {"sides": sides}
    return {**description, **named}


def header_of_side(header: Mapping[str, Any], side: int) -> dict[str, Any]:
    """Return the header as that of a comparison of one side with the reference."""
    about = dict(header[HEADER_NAME])
    sides = about.pop("sides", None)
    if isinstance(sides, list):
        names = about.get("names")
        own = {"names": [names[0], names[side]]} if isinstance(names, list) and len(names) == len(sides) else {}
        about = described({**about, **own, "id": f"{about.get('id', '')}-{side}"}, [sides[0], sides[side]])
    return {**header, HEADER_NAME: about}


def records_of_side(records: Iterable[Mapping[str, Any]], side: int) -> list[Mapping[str, Any]]:
    """Return the records that belong to one side, as those of a comparison of two."""
    found = (record_of_side(record, side) for record in records)
    return [record for record in found if record is not None]


def record_of_side(record: Mapping[str, Any], side: int) -> Mapping[str, Any] | None:
    """Return a record as that of a comparison of two sides; None if it is about another side."""
    kind = record.get("kind")
    if kind in _OF_A_SIDE:
        if record.get("side", 1) != side:
            return None
        return {name: value for name, value in record.items() if name not in _POSITION}
    if kind in _WITHOUT_VERDICT and record.get("place") is not None:
        if record["place"] not in (0, side):
            return None
        return {**record, "side": "branch" if record["place"] else "base", "place": min(record["place"], 1)}
    if kind == ComparisonReplicate.KIND:
        replicate = from_record(ComparisonReplicate, record).of_side(side)
        return None if replicate is None else to_record(replicate)
    return record
