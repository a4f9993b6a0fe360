from __future__ import annotations

import dataclasses

import pytest

from photometer.errors import ResultsFileError
from photometer.model.conditions import Conditions

# Every field, whichever there are: text for the one that is text, a number for the others.
FULL = Conditions(
    **{field.name: "text" if field.name == "stopped_because" else 3 for field in dataclasses.fields(Conditions)}  # type: ignore[arg-type]
)


def test_json_round_trip() -> None:
    assert Conditions.from_json(FULL.to_json()) == FULL
    assert Conditions.from_json(Conditions().to_json()) == Conditions()


def test_unknown_is_left_out_and_newer_fields_are_ignored() -> None:
    assert Conditions(warmup_runs=3).to_json() == {"warmup_runs": 3}
    assert Conditions.from_json({"weather": "fine"}) == Conditions()


@pytest.mark.parametrize(("name", "value"), [("wall_seconds", "1"), ("stopped_because", 3), ("preemptions", [])])
def test_wrong_types_are_named(name: str, value: object) -> None:
    with pytest.raises(ResultsFileError, match=rf"conditions\.{name}"):
        Conditions.from_json({name: value})
