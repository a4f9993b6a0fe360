"""A table is data; what a cell says follows from its column's kind."""

from __future__ import annotations

import math

import pytest

from photometer.report.tables.as_csv import render_csv
from photometer.report.tables.as_markdown import render_markdown
from photometer.report.tables.table import (
    Cell,
    Column,
    Kind,
    Row,
    Table,
    Value,
    fields_of,
    row_of,
    table_of,
    table_of_records,
    text_of,
)

NAME = Column("name", "benchmark", Kind.NAME)


def made(*rows: Row, columns: tuple[Column, ...] = (NAME, Column("seconds", "time", Kind.TIME))) -> Table:
    return table_of(columns, rows)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Kind.NAME, "add", "add"),
        (Kind.TIME, 1.2345e-6, "1.23 µs"),
        (Kind.TIME, (1e-6, 2e-6), "1.00 µs to 2.00 µs"),
        (Kind.TIME, (1e-6, math.inf), "1.00 µs to anything"),
        (Kind.DIFFERENCE, -3e-9, "-3.0 ns"),
        (Kind.COUNT, 9310.0, "9,310"),
        (Kind.ADDED, 12, "+12"),
        (Kind.BYTES, 2048, "2.0 KiB"),
        (Kind.SHARE, 0.121, "12 %"),
        (Kind.CHANGE, 1.03, "+3.0 %"),
        (Kind.RATIO, 1.254, "1.25×"),
        (Kind.NUMBER, 3.0, "3"),
        (Kind.BAR, 3.0, ""),
        (Kind.COUNT, None, ""),
    ],
)
def test_the_kind_says_how_a_value_is_written(kind: Kind, value: Value, text: str) -> None:
    assert text_of(Cell(value), Column("key", "head", kind)) == text


def test_units_stand_beside_their_number() -> None:
    assert text_of(Cell(2.15e9), Column("rate", "rate", Kind.AMOUNT, unit="FLOP/s")) == "2.15 GFLOP/s"
    assert text_of(Cell(80.0), Column("power", "power", Kind.NUMBER, unit="W")) == "80 W"


def test_a_text_of_its_own_and_signs_beside_it() -> None:
    time = Column("seconds", "time", Kind.TIME)
    assert text_of(Cell(text="failed"), time) == "failed"
    assert text_of(Cell(1.0, before="? ", after=" *"), time) == "? 1.00 s *"
    assert text_of(Cell(None, before="? "), time) == ""


def test_a_column_without_a_cell_is_not_used() -> None:
    table = made(row_of({"name": "add", "seconds": None}), row_of({"name": "", "seconds": Cell(None)}))
    assert [column.key for column in table.used_columns] == ["name"]


def test_an_interval_has_a_field_for_each_end() -> None:
    column = Column("interval", "interval", Kind.CHANGE)
    table = made(row_of({"name": "x"}), row_of({"interval": (0.9, 1.1)}), columns=(NAME, column))
    assert fields_of(column, table) == ("interval_low", "interval_high")
    assert fields_of(NAME, table) == ("name",)


def test_plain_records_are_a_table_of_their_own() -> None:
    records = [{"name": "add", "low_seconds": 1.5e-6, "samples": 3}, {"name": "mul", "exact": True, "size": (1, 2)}]
    assert render_markdown(table_of_records(records)).splitlines()[2:] == [
        "| add | 1.50 µs | 3 | | |",
        "| mul | | | yes | (1, 2) |",
    ]
    assert render_csv(table_of_records(records)).splitlines() == [
        "name,low_seconds,samples,exact,size",
        "add,1.5e-06,3,,",
        'mul,,,yes,"(1, 2)"',
    ]
    assert render_csv(table_of_records([], ("a", "b"))) == "a,b\r\n"
