"""Kept: the records of a session, written at once to a results file and a store if these are asked for."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from photometer.errors import PhotometerError
from photometer.instruments.machine_facts import gather_machine
from photometer.model.results_file import ResultsFile
from photometer.model.results_format import make_header

if TYPE_CHECKING:
    from photometer.history.recorder import Recorder


class Kept:
    """Records so far. If a file or store fails, its rows are lost; the tests go on, and the session fails."""

    def __init__(self, file: str | None, store: str | None, project: str) -> None:
        self.records: list[dict[str, Any]] = []
        self._messages: list[str] = []
        self._file: ResultsFile | None = None
        self._recorder: Recorder | None = None
        about = {"run": {"id": uuid.uuid4().hex, "suite": f"pytest {project}", "python": sys.executable}}
        try:
            if file is not None:
                self._file = ResultsFile.create(file, about, machine=gather_machine(), overwrite=True)
            if store is not None:
                self._recorder = _open_recorder(store, about)
        except PhotometerError as error:
            self._messages.append(f"photometer: results are not kept: {error}")

    def add(self, records: Sequence[dict[str, Any]]) -> None:
        for record in records:
            self.records.append(record)
            try:
                if self._file is not None:
                    self._file.append(record)
            except PhotometerError as error:
                self._messages.append(f"photometer: the results file is no longer written: {error}")
                self._file = None
            if self._recorder is not None:
                self._recorder.add(record)

    @property
    def is_incomplete(self) -> bool:
        """Return whether results that should be kept are lost."""
        return bool(self._messages)

    def messages(self) -> list[str]:
        """Return the messages about file and store."""
        lines = list(self._messages)
        lines += [f"results: {self._file.path}"] if self._file is not None else []
        lines += [f"stored: {self._recorder.place}"] if self._recorder is not None else []
        return lines

    def close(self) -> None:
        if self._recorder is not None:
            self._recorder.finish()
            self._recorder.close()
            self._recorder = None


def _open_recorder(store: str, about: Mapping[str, Any]) -> Recorder:
    try:
        from photometer.history.recorder import open_recorder
    except ImportError as error:
        from photometer.errors import ToolMissing

        raise ToolMissing(
            f"a store needs {error.name}, which is not installed", remedy="pip install photometer[history]"
        ) from error
    return open_recorder(store, make_header(gather_machine(), about))
