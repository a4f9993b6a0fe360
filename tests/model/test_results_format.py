from __future__ import annotations

import pytest

from photometer.errors import ResultsFileError
from photometer.model.machine import Machine
from photometer.model.results_format import decode, encode_header, encode_record, make_header


def test_header_is_open_at_its_end() -> None:
    line = encode_header(make_header(Machine(cpu_model="C"), {"suite": "s"}))
    assert line.endswith(b', "records": [')
    assert decode(line + b"]}") == {
        "format": "photometer-results",
        "version": 1,
        "machine": {"cpu_model": "C"},
        "suite": "s",
        "records": [],
    }


def test_a_record_is_one_line_of_ascii_whatever_the_text() -> None:
    text = "a\nb\r\u2028\u00fc\ud800\x00"
    line = encode_record({"kind": "failure", "text": text})
    assert line.isascii()
    assert line.splitlines() == [line]
    assert decode(line)["text"] == text


@pytest.mark.parametrize("kind", [None, "", 3])
def test_a_record_needs_a_kind(kind: object) -> None:
    with pytest.raises(ResultsFileError, match="kind"):
        encode_record({"kind": kind})


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e400", "-1e400", f"[{10**400}, NaN]"])
def test_numbers_must_be_finite(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON number|out of range"):
        decode(text)


def test_a_record_nested_without_end_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ResultsFileError, match="cannot be written"):
        encode_record({"kind": "failure", "x": endless})
