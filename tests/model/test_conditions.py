from __future__ import annotations

import dataclasses

import pytest

from photometer.errors import ResultsFileError
from photometer.model.conditions import Conditions

FULL = Conditions(1e-9, 2e-9, 10, True, "precision reached", 1.5, 1.4, 3)


def test_json_round_trip() -> None:
    assert all(value is not None for value in dataclasses.asdict(FULL).values())
    assert Conditions.from_json(FULL.to_json()) == FULL
    assert Conditions.from_json(Conditions().to_json()) == Conditions()


def test_unknown_is_left_out_and_newer_fields_are_ignored() -> None:
    assert Conditions(warmup_runs=3).to_json() == {"warmup_runs": 3}
    assert Conditions.from_json({"weather": "fine"}) == Conditions()


@pytest.mark.parametrize(("name", "value"), [("wall_seconds", "1"), ("stopped_because", 3), ("preemptions", [])])
def test_wrong_types_are_named(name: str, value: object) -> None:
    with pytest.raises(ResultsFileError, match=rf"conditions\.{name}"):
        Conditions.from_json({name: value})
