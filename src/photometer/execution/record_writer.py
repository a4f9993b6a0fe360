"""RecordWriter: writes records in a separate thread, so that nodes do not wait for the driver's disk.

Each record is flushed to disk, which takes a millisecond or more; a cluster finishes hundreds per second. In: records.
Out: the same, in their order. An error in writing is raised by the next call, or at the end.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

# Waiting records are in memory, so their number is limited.
MOST_WAITING = 1000


class RecordWriter:
    """Use as a context manager; everything is written when the block ends."""

    def __init__(self, write: Callable[[Any], object]) -> None:
        self._write = write
        self._waiting: queue.Queue[Any] = queue.Queue(MOST_WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="record writer", daemon=True)

    def keep(self, record: Any) -> None:
        """Take a record; wait only if the queue is full."""
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
