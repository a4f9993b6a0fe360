"""Nouns to records and back: what is left out, what is wanted, and what an error says."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import subprocess
import sys
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import pytest

from photometer.errors import MeasurementError, ResultsFileError
from photometer.model.records import HighEnd, Key, LowEnd, NotNegative, Positive, from_record, to_record


class Colour(enum.Enum):
    DARK_RED = "dark red"
    BLUE = "blue"


class Numbered(enum.Enum):
    FIRST = 0
    SECOND = 1


class Row(NamedTuple):
    count: int  # type: ignore[assignment]
    name: str


@dataclasses.dataclass(frozen=True)
class Leg:
    """A part, two of whose fields are always written."""

    ALWAYS: ClassVar[tuple[str, ...]] = ("colour", "order")

    length: NotNegative
    colour: Colour = Colour.BLUE
    order: Numbered = Numbered.FIRST


@dataclasses.dataclass(frozen=True)
class ThreeLegs:
    """A record that stands by itself."""

    KIND: ClassVar[str] = "stool"

    legs: tuple[Leg, ...]
    weight: Annotated[Positive, Key("mass")]
    extent: tuple[LowEnd, HighEnd] = (-math.inf, math.inf)
    spare: Leg | None = None
    rows: tuple[Row, ...] = ()
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.legs) > 3:
            raise MeasurementError("it has too many legs")


STOOL = ThreeLegs(
    (Leg(1.5), Leg(2.0, Colour.DARK_RED, Numbered.SECOND)),
    3,
    (-math.inf, 2.5),
    spare=Leg(0.0),
    rows=(Row(1, "a"), Row(2, "b")),
    counts={"Ir": 5},
    note="mine",
)
PLAIN = ThreeLegs((), 1)


@pytest.mark.parametrize("noun", [STOOL, PLAIN], ids=["full", "plain"])
def test_there_and_back(noun: ThreeLegs) -> None:
    assert from_record(ThreeLegs, json.loads(json.dumps(to_record(noun), allow_nan=False))) == noun


def test_spelling() -> None:
    record = to_record(STOOL)
    assert record["kind"] == "stool"
    assert record["mass"] == 3
    assert record["extent"] == [None, 2.5]
    assert record["rows"] == [[1, "a"], [2, "b"]]
    assert record["legs"][1] == {"length": 2.0, "colour": "dark red", "order": "second"}
    # A person who looks at a line sees first what it is.
    assert list(record)[-3:] == ["legs", "extent", "rows"]


def test_defaults_are_left_out_unless_the_noun_says_otherwise() -> None:
    assert to_record(PLAIN) == {"kind": "stool", "mass": 1, "legs": []}
    assert to_record(Leg(1.0)) == {"length": 1.0, "colour": "blue", "order": "first"}


def test_infinity_is_null_only_at_ends() -> None:
    assert to_record(Leg(math.inf))["length"] == math.inf


def test_unknown_fields_are_ignored_and_the_kind_may_be_missing() -> None:
    assert from_record(ThreeLegs, {"mass": 1, "legs": [], "smell": "pine"}) == PLAIN


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "table"}, "kind: invalid value 'table'"),
        ({"mass": 0}, "mass should not be below 1, found 0"),
        ({"mass": True}, "mass should be a whole number, found True"),
        ({"mass": 1.5}, "mass should be a whole number, found 1.5"),
        ({"mass": 2.0}, "mass should be a whole number, found 2.0"),
        ({"legs": None}, "legs should be a list, found None"),
        ({"legs": [{"length": 1}]}, r"legs\[0\] has no colour"),
        ({"legs": [{"length": -1, "colour": "blue", "order": "first"}]}, r"legs\[0\].length should not be negative"),
        ({"legs": [{"length": 1, "colour": "pink", "order": "first"}]}, r"legs\[0\].colour.*pink"),
        ({"legs": [{"length": 10**400, "colour": "blue", "order": "first"}]}, r"legs\[0\].length: number out of range"),
        ({"legs": [to_record(Leg(1.0))] * 4}, "stool that cannot be: it has too many legs"),
        ({"spare": 3}, "spare should be an object or null, found 3"),
        ({"extent": [1.0]}, "extent: expected `array` of length 2"),
        ({"counts": {"Ir": "5"}}, "counts.*should be a whole number"),
        ({"rows": [["1", "f"]]}, r"rows\[0\]\[0\] should be a whole number, found '1'"),
    ],
)
def test_errors_name_the_field_and_what_is_there(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ResultsFileError, match=message):
        from_record(ThreeLegs, {**to_record(PLAIN), **change})


@pytest.mark.parametrize("record", [None, 3, [], "text"])
def test_what_is_no_object_is_refused(record: object) -> None:
    with pytest.raises(ResultsFileError, match="the record should be an object"):
        from_record(ThreeLegs, record)
    with pytest.raises(ResultsFileError, match="leg should be an object"):
        from_record(Leg, record)


def test_nouns_are_written_without_msgspec() -> None:
    # The child that measures on a device loads them in environments that do not have it.
    code = (
        "import sys\nsys.modules['msgspec'] = None\n"
        "from photometer.model.records import to_record\n"
        "from photometer.model.task import TaskSpec\n"
        "from photometer.instruments.device import measure\n"
        "assert to_record(TaskSpec('x', 'y')) == {'stmt': 'x', 'setup': 'y'}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
