"""How a results file is spelled: one JSON document, laid out so that each record is one line.

    {"format": "photometer-results", "version": 1, ..., "records": [
    {"kind": "measurement", ...},
    {"kind": "failure", ...}
    ]}

History of the version: 1, the first. It rises only when an older reader would misread a newer file; new kinds of
record and new fields do not raise it, because readers keep what they do not know.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from photometer.errors import ResultsFileError
from photometer.model.machine import Machine
from photometer.model.records import to_record

FORMAT = "photometer-results"
# The kind of the record of a benchmark that says itself that it does not apply here.
SKIPPED = "skipped"
VERSION = 1
HEADER_END = b'"records": ['
FILE_END = b"\n]}\n"


class Recordable(Protocol):
    """A noun that can stand in a results file: its record has a "kind"."""

    KIND: ClassVar[str]


def make_header(machine: Machine | None = None, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the header of a file: format, version, the machine's facts and the caller's additions."""
    clash = {"format", "version", "machine", "records"} & set(extra or ())
    if clash:
        raise ResultsFileError(f"the header's own names cannot be given: {', '.join(sorted(clash))}")
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if machine is not None:
        header["machine"] = to_record(machine)
    return {**header, **(extra or {})}


def encode_header(header: Mapping[str, Any]) -> bytes:
    """Return the first line, open at its end: `{..., "records": [`."""
    return encode_line(header, "the header")[:-1] + b", " + HEADER_END


def encode_record(record: Recordable | Mapping[str, Any]) -> bytes:
    """Return one record as one line of ASCII, without the line's end."""
    fields = record if isinstance(record, Mapping) else to_record(record)
    kind = fields.get("kind")
    if not isinstance(kind, str) or not kind:
        raise ResultsFileError(f'a record needs a "kind", found {kind!r}')
    return encode_line(fields, f"the record of kind {kind!r}")


def encode_line(value: Mapping[str, Any], what: str) -> bytes:
    try:
        # Plain ASCII: no text of a user can hold a raw line end, and a torn byte is never half a character.
        return json.dumps(value, allow_nan=False, ensure_ascii=True).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise ResultsFileError(
            f"{what} cannot be written as JSON: {error}",
            remedy="Use only strings, finite numbers, lists and dicts, in metadata too.",
        ) from error


def decode(text: str | bytes) -> Any:
    """Parse JSON strictly: no NaN or Infinity, spelled out or by overflow. Raise ValueError or RecursionError."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # The standard library's parser takes five times as long, but it says in which line and column the fault is,
        # and it reads lone surrogates, which users' text may have.
        plain = text if isinstance(text, str) else text.decode("utf-8-sig")
        return json.loads(plain, parse_constant=_no_constant, parse_float=_finite, parse_int=_not_too_large)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is out of range")
    return value


def _not_too_large(digits: str) -> int:
    """Return the integer, if it is in the range of numbers that can be calculated with."""
    _finite(digits)
    return int(digits)
