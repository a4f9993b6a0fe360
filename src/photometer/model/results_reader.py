"""Reading a results file: bytes that anyone may have written, to `Results`, or to an error naming file and place.

Nothing in the file is executed. The usual whole file is one JSON parse; only a damaged one is looked at line by line.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from photometer.errors import ResultsFileError
from photometer.model.machine import Machine
from photometer.model.measurement import Measurement
from photometer.model.order_name import order_id_of
from photometer.model.records import from_record
from photometer.model.results_format import FORMAT, VERSION, Recordable, decode

# Parsing takes up to five times the file in memory. A measurement is about 2 KB: this is a hundred thousand of them.
LARGEST_FILE_BYTES = 256 * 1024 * 1024

# A URL as a path: of its two slashes one is left.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")

# What may stand between a record and the line end after it.
AFTER_RECORD = b", \t\r\n"

_Noun = TypeVar("_Noun", bound=Recordable)


@dataclasses.dataclass(frozen=True)
class Results:
    """A loaded file: its header, and its records as plain dicts, each with a "kind".

    `damage` names the places that `recover=True` skipped; a file that loads without it has none.
    """

    path: Path
    header: Mapping[str, Any]
    records: tuple[Mapping[str, Any], ...]
    damage: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())
        return f"<photometer.Results of {str(self.path)!r}: {kinds or 'no records'}>"

    @property
    def machine(self) -> Machine | None:
        """Return the machine that the file was made on, if it says so."""
        facts = self.header.get("machine")
        if facts is None:
            return None
        try:
            return from_record(Machine, facts)
        except ResultsFileError as error:
            raise ResultsFileError(f"{self.path}, header: {error.message}") from error

    @property
    def kinds(self) -> Counter[str]:
        """Return the number of records of each kind."""
        return Counter(record["kind"] for record in self.records)

    @property
    def records_by_suite(self) -> tuple[Mapping[str, Any], ...]:
        """Return the records in the order of the suite, as the header lists it; those it does not list come last."""
        places = {str(order): place for place, order in enumerate(self._listed)}

        def place(record: Mapping[str, Any]) -> int:
            return places.get(order_id_of(record), len(places))

        return tuple(sorted(self.records, key=place))

    @property
    def listed_orders(self) -> int:
        """Return the number of orders in the run's header; 0 if it has none."""
        return len(self._listed)

    @property
    def _listed(self) -> Sequence[object]:
        about = self.header.get("run")
        listed = about.get("orders") if isinstance(about, Mapping) else None
        return listed if isinstance(listed, list) else ()

    def of(self, noun: type[_Noun]) -> list[_Noun]:
        """Return the nouns in the records of this kind; an error names the file, the record and the field."""
        with _no_garbage():
            return [
                self.noun(number, noun)
                for number, record in enumerate(self.records, start=1)
                if record["kind"] == noun.KIND
            ]

    def noun(self, number: int, noun: type[_Noun]) -> _Noun:
        """Return the noun in one record; the first has the number 1."""
        try:
            return from_record(noun, self.records[number - 1])
        except ResultsFileError as error:
            raise ResultsFileError(f"{self.path}, record {number} ({noun.KIND}): {error.message}") from error

    @property
    def measurements(self) -> list[Measurement]:
        """Return the measurements of the host's clock."""
        return self.of(Measurement)


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """Pause the garbage collector while records are read: it would find nothing, and take most of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def load_results(path: str | Path, recover: bool = False, largest_bytes: int = LARGEST_FILE_BYTES) -> Results:
    """Read everything in the file.

    With `recover`, whole records of a damaged file are kept and the damage is named.
    """
    path = Path(path)
    content = read_limited(path, largest_bytes)
    try:
        with _no_garbage():
            document = decode(content)
    except UnicodeDecodeError as error:
        _reject_or_recover(path, content, recover, _line_of(content, error.start), "is not UTF-8 text")
    except json.JSONDecodeError as error:
        _reject_or_recover(path, content, recover, error.lineno, f"column {error.colno}: {error.msg}")
    except RecursionError:
        _reject_or_recover(path, content, recover, _first_bad_line(content), "the JSON is nested too deeply")
    except ValueError as error:
        # NaN, an overflow or an integer of thousands of digits: the parser does not say where, so look for the line.
        _reject_or_recover(path, content, recover, _first_bad_line(content), str(error))
    else:
        return _results(path, document, recover)
    return recover_lines(path, content)


def read_limited(path: Path, largest_bytes: int) -> bytes:
    try:
        _check_regular(path)
        with path.open("rb") as file:
            content = file.read(largest_bytes + 1)
    except OSError as error:
        if _URL.match(str(path)):
            # The chain is cut, too: it names the path, and the password in it.
            raise ResultsFileError(
                "a URL was given in place of a results file",
                remedy="Name a file; `photometer history` and --store read a database.",
            ) from None
        if isinstance(error, FileNotFoundError):
            raise ResultsFileError(f"{path}: there is no such file", remedy="Check the path.") from error
        if isinstance(error, IsADirectoryError):
            raise ResultsFileError(f"{path}: is a folder, not a file", remedy="Name the file in it.") from error
        raise ResultsFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(content) > largest_bytes:
        raise ResultsFileError(
            f"{path}: is larger than {largest_bytes:,} bytes",
            remedy="If it really is a results file, load it with a higher `largest_bytes`.",
        )
    if not content.strip():
        raise ResultsFileError(f"{path}: is empty", remedy="It holds no results; delete it and measure again.")
    return content


def _check_regular(path: Path) -> None:
    """Raise for anything but a file: opening a pipe waits for its other end, and reading a device may never end."""
    mode = path.stat().st_mode
    kinds = {"a pipe": stat.S_ISFIFO, "a device": stat.S_ISCHR, "a disk": stat.S_ISBLK, "a socket": stat.S_ISSOCK}
    for words, is_kind in kinds.items():
        if is_kind(mode):
            raise ResultsFileError(f"{path}: is {words}, not a file", remedy="Write it to a file first, and name that.")


def check_header(path: Path, document: object) -> dict[str, Any]:
    """Return the header of one of our files, of a version we read; otherwise raise an error that names the problem."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ResultsFileError(
            f'{path}, line 1: is JSON, but not a photometer results file (no "format": "{FORMAT}")',
            remedy="Name a file that photometer wrote.",
        )
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ResultsFileError(f"{path}, line 1: has no version number, found {version!r}")
    if version > VERSION:
        raise ResultsFileError(
            f"{path}, line 1: is of version {version}; this photometer reads up to {VERSION}",
            remedy="Upgrade photometer to read it.",
        )
    return {name: value for name, value in document.items() if name != "records"}


def _results(path: Path, document: object, recover: bool) -> Results:
    header = check_header(path, document)
    records = document.get("records") if isinstance(document, dict) else None
    if not isinstance(records, list):
        raise ResultsFileError(f'{path}: "records" should be a list, found {type(records).__name__}')
    foreign = [number for number, record in enumerate(records, start=1) if not is_record(record)]
    if foreign and not recover:
        raise ResultsFileError(f'{path}, record {foreign[0]}: should be an object with a "kind"')
    damage = tuple(f'record {number} is not an object with a "kind"' for number in foreign)
    return Results(path, header, tuple(filter(is_record, records)), damage)


def is_record(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("kind"), str)


def record_part(line: bytes) -> bytes:
    """Return the line without what follows its record: the comma before the next one, or several after an edit by hand.

    Of an append, perhaps only the comma was written, over the line end before the closing line. No JSON ends in that.
    """
    line = line.rstrip()
    return line.removesuffix(b"]}" if line.endswith(b",]}") else b"").rstrip(AFTER_RECORD)


def decode_line(line: bytes) -> object:
    """Return the value on one record's line, or None if the line is not whole."""
    try:
        return decode(record_part(line).lstrip())
    except (ValueError, RecursionError):
        return None


def recover_lines(path: Path, content: bytes) -> Results:
    """Return the header and the whole records of a damaged file; it must have a whole header."""
    lines = content.split(b"\n")
    header = check_header(path, decode_line(lines[0].rstrip() + b"]}"))
    records, damage = [], []
    for number, line in enumerate(lines[1:], start=2):
        if line.strip() in (b"", b"]}", b"]"):
            continue
        record = decode_line(line)
        if is_record(record):
            records.append(record)
        else:
            damage.append(f"line {number} is not a whole record")
    if not content.endswith(b"]}\n"):
        damage.append("the closing line is missing")
    return Results(path, header, tuple(records), tuple(damage))  # type: ignore[arg-type]


def _reject_or_recover(path: Path, content: bytes, recover: bool, line: int | None, problem: str) -> None:
    """Return if recovery is requested and possible; otherwise raise an error with the number of whole records."""
    place = f"{path}, line {line}" if line is not None else str(path)
    if not content.startswith(b'{"format": "' + FORMAT.encode()):
        _foreign(place, problem)
    if recover:
        return
    whole = len(recover_lines(path, content).records)
    kept = "1 whole record" if whole == 1 else f"{whole} whole records"
    torn = "torn" if line is None or line >= content.count(b"\n") else "damaged"
    raise ResultsFileError(
        f"{place}, {problem}: the file is {torn} here",
        remedy=f"{kept} can be read with recover=True (`photometer show --recover`). "
        "Appending to the file repairs a torn end.",
    )


def _foreign(place: str, problem: str) -> NoReturn:
    raise ResultsFileError(f"{place}, {problem}: this is not JSON", remedy="Name a file that photometer wrote.")


def _line_of(content: bytes, offset: int) -> int:
    return content.count(b"\n", 0, offset) + 1


def _first_bad_line(content: bytes) -> int | None:
    for number, line in enumerate(content.split(b"\n"), start=1):
        whole = line.rstrip() + b"]}" if number == 1 else line
        if line.strip() not in (b"", b"]}") and decode_line(whole) is None:
            return number
    return None
