"""ResultsFile: a results file that records are appended to, by several processes if need be, and that survives a crash.

After each append the file is valid JSON. A crash in the middle of one leaves a torn end, which the next append
cuts off; the records finished before it are all kept. See results_format.py for the layout.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from photometer.errors import ResultsFileError
from photometer.model.machine import Machine
from photometer.model.results_folder import flock_or_warn
from photometer.model.results_format import (
    FILE_END,
    HEADER_END,
    Recordable,
    encode_header,
    encode_record,
    make_header,
)
from photometer.model.results_reader import (
    AFTER_RECORD,
    LARGEST_FILE_BYTES,
    check_header,
    decode_line,
    is_record,
    load_results,
    read_limited,
    record_part,
)
from photometer.model.whole_file import not_written, write_all, write_whole

# A header is a few KB; a first line longer than this is some other file.
LONGEST_HEADER_BYTES = 1024 * 1024
# Read first: each append looks at the header, and reading a megabyte takes longer than all else.
USUAL_HEADER_BYTES = 16 * 1024
# The closing line, and what an edit by hand may leave before it.
LONGEST_END_BYTES = 64


class ResultsFile:
    """The path of a results file. It is not open between appends."""

    def __init__(self, path: str | Path) -> None:
        """Take an existing file; `create` makes a new one."""
        self.path = Path(path)
        self._checked_header = b""
        with self._locked() as file:
            self._header_bytes(file)

    @classmethod
    def create(
        cls,
        path: str | Path,
        header: Mapping[str, Any] | None = None,
        *,
        machine: Machine | None = None,
        records: Iterable[Recordable | Mapping[str, Any]] = (),
        overwrite: bool = False,
    ) -> ResultsFile:
        """Make a new file with these records, written under another name and moved into place whole."""
        path = Path(path)
        lines = b",\n".join(encode_record(record) for record in records)
        content = encode_header(make_header(machine, header)) + (b"\n" if lines else b"") + lines + FILE_END
        _write_new(path, content, overwrite)
        return cls(path)

    @classmethod
    def open_or_create(cls, path: str | Path, *, machine: Machine | None = None) -> ResultsFile:
        """Return the file at `path`, made if there is none."""
        path = Path(path)
        if not path.exists():
            try:
                return cls.create(path, machine=machine)
            except ResultsFileError:
                # Another process may have made it meanwhile: then that one is ours too.
                if not path.exists():
                    raise
        return cls(path)

    def append(self, record: Recordable | Mapping[str, Any]) -> None:
        """Add one record; it is on disk when this returns."""
        line = encode_record(record)
        with self._locked() as file:
            end = self._end_of_records(file)
            comma = b"" if end == self._header_bytes(file) else b","
            try:
                self._write_end(file, end, comma + b"\n" + line + FILE_END)
            except OSError as error:
                self._take_back(file, end)
                kept = load_results(self.path, recover=True).records
                words = "the one record" if len(kept) == 1 else f"all {len(kept)} records"
                raise not_written(self.path, error, kept=f"{words} before this one can be read") from error

    def _write_end(self, file: BinaryIO, end: int, content: bytes) -> None:
        file.seek(end)
        write_all(file.fileno(), content)
        # A torn end longer than the new record would otherwise stay behind it.
        file.truncate()
        os.fsync(file.fileno())

    def _take_back(self, file: BinaryIO, end: int) -> None:
        """Close the file after its last whole record.

        The few bytes of the end were there before, so the disk has room for them.
        """
        with contextlib.suppress(OSError):
            # Should this fail too, the end is torn: the records stay whole, and the next append repairs it.
            self._write_end(file, end, FILE_END)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """Open the file for writing, locked while the block runs."""
        try:
            import fcntl  # noqa: F401 - only asked for, before anything is opened
        except ImportError as error:  # Windows
            raise ResultsFileError(
                "appending needs POSIX file locks", remedy="Save all measurements at once with photometer.save."
            ) from error
        while True:
            try:
                # Unbuffered: an append must be a single write.
                file = self.path.open("r+b", buffering=0)
            except OSError as error:
                raise ResultsFileError(f"{self.path}: cannot be appended to: {error.strerror or error}") from error
            with file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise ResultsFileError(f"{self.path}: cannot be appended to: it is not a file")
                flock_or_warn(file.fileno(), self.path)
                # While this process waited, another may have moved a new file into this one's place.
                if self.path.exists() and os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    yield file
                    return

    def _header_bytes(self, file: BinaryIO) -> int:
        """Return the length of the open-ended first line, after checking that it is one of ours."""
        file.seek(0)
        known = self._checked_header
        if known and file.read(len(known)) == known:
            return len(known) - 1
        file.seek(0)
        begin = file.read(USUAL_HEADER_BYTES)
        if b"\n" not in begin:
            begin += file.read(LONGEST_HEADER_BYTES - len(begin))
        line = begin.split(b"\n", 1)[0]
        if not line.endswith(HEADER_END):
            raise ResultsFileError(
                f"{self.path}, line 1: is not the head of a photometer results file with one record per line",
                remedy="If another program rewrote the file, load it and save it again; otherwise name another file.",
            )
        check_header(self.path, decode_line(line + b"]}"))
        # Of a run of 20,000 orders it is 700 kB: parsed once, and compared afterwards.
        self._checked_header = line + b"\n"
        return len(line)

    def _end_of_records(self, file: BinaryIO) -> int:
        """Return where the last whole record (or the header, if there is none) ends."""
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - LONGEST_END_BYTES, 0))
        last = file.read()
        if last.endswith(FILE_END):
            # If the last record was removed by hand, the comma behind the one before it is still there.
            return size - len(last) + len(last.removesuffix(FILE_END).rstrip(AFTER_RECORD))
        content = read_limited(self.path, LARGEST_FILE_BYTES)
        end = len(content)
        while end > 0:
            start = content.rfind(b"\n", 0, end) + 1
            line = content[start:end]
            if start == 0 or is_record(decode_line(line)):
                return start + len(record_part(line))
            end = start - 1
        return end


def _write_new(path: Path, content: bytes, overwrite: bool) -> None:
    if path.exists() and not path.is_file():
        raise ResultsFileError(f"{path}: is not a file", remedy="Name a file for the results.")
    kept = "what was there before is kept" if path.exists() else ""
    try:
        write_whole(path, content, overwrite=overwrite)
    except FileExistsError as error:
        raise ResultsFileError(
            f"{path}: exists already", remedy="Append to it, give another name, or ask to overwrite it."
        ) from error
    except OSError as error:
        raise not_written(path, error, kept=kept) from error
