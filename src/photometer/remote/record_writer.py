"""RecordWriter: records are written by a thread of its own, so that nodes do not wait for the driver's disk.

Each record is forced to disk, which takes a millisecond or more; a cluster finishes hundreds per second. In: records.
Out: the same, in their order. What cannot be written is raised by the next call, or at the end.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

# Records that wait are in memory: no more than these.
MOST_WAITING = 1000


class RecordWriter:
    """Use as a context manager; when the block ends, everything is written."""

    def __init__(self, write: Callable[[Any], object]) -> None:
        self._write = write
        self._waiting: queue.Queue[Any] = queue.Queue(MOST_WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="record writer", daemon=True)

    def keep(self, record: Any) -> None:
        """Take a record; wait only if very many are to be written."""
        self._raise()
        self._waiting.put(record)

    def flush(self) -> None:
        """Return when all records so far are written."""
        self._waiting.join()
        self._raise()

    def __enter__(self) -> RecordWriter:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.put(_END)
        self._thread.join()
        if kind is None:
            self._raise()

    def _run(self) -> None:
        while (record := self._waiting.get()) is not _END:
            try:
                if self._error is None:
                    self._write(record)
            except BaseException as error:
                self._error = error
            finally:
                self._waiting.task_done()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error


_END = object()
