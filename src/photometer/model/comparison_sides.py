"""A comparison of many sides as comparisons of two: each side with the reference, as raw headers and records.

A history store keeps a comparison by its two commits, and older readers know two sides. In: the header and records of
a results file. Out: those of one side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.records import from_record, to_record

HEADER_NAME = "comparison"
# Records of one side. They have its position, unless there are only two.
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
    if kind == "comparison_failure" and record.get("place") is not None:
        if record["place"] not in (0, side):
            return None
        return {**record, "side": "branch" if record["place"] else "base", "place": min(record["place"], 1)}
    if kind == ComparisonReplicate.KIND:
        replicate = from_record(ComparisonReplicate, record).of_side(side)
        return None if replicate is None else to_record(replicate)
    return record
