from __future__ import annotations

import dataclasses

import pytest

from photometer.errors import ResultsFileError
from photometer.model.conditions import Conditions
from photometer.model.records import from_record, to_record

# Every field, whichever there are: a number for all but the two that are others.
OTHERS = {"stopped_because": "text", "warmed_up": True}
FULL = Conditions(**{field.name: OTHERS.get(field.name, 3) for field in dataclasses.fields(Conditions)})  # type: ignore[arg-type]


def test_json_round_trip() -> None:
    assert from_record(Conditions, to_record(FULL)) == FULL
    assert from_record(Conditions, to_record(Conditions())) == Conditions()


def test_unknown_is_left_out_and_newer_fields_are_ignored() -> None:
    assert to_record(Conditions(warmup_runs=3)) == {"warmup_runs": 3}
    assert from_record(Conditions, {"weather": "fine"}) == Conditions()


@pytest.mark.parametrize(
    ("name", "value"), [("wall_seconds", "1"), ("stopped_because", 3), ("preemptions", []), ("warmed_up", 3)]
)
def test_wrong_types_are_named(name: str, value: object) -> None:
    with pytest.raises(ResultsFileError, match=rf"conditions\.{name}"):
        from_record(Conditions, {name: value})
