"""Records are written in their order, and what cannot be written is said."""

from __future__ import annotations

import time

import pytest

from photometer.execution.run_file import RecordWriter


def test_all_are_written_in_their_order_when_the_block_ends() -> None:
    written: list[int] = []

    def write(record: int) -> None:
        time.sleep(0.001)
        written.append(record)

    with RecordWriter(write) as writer:
        for number in range(50):
            writer.keep(number)
        writer.flush()
        assert len(written) == 50
        writer.keep(50)
    assert written == list(range(51))


def test_an_error_is_raised_by_the_next_call_and_nothing_follows_it() -> None:
    written: list[int] = []

    def write(record: int) -> None:
        if record == 1:
            raise OSError("disk full")
        written.append(record)

    writer = RecordWriter(write)
    with pytest.raises(OSError, match="disk full"):
        _keep_all(writer)
    assert written == [0]


def _keep_all(writer: RecordWriter) -> None:
    with writer:
        for number in range(5):
            writer.keep(number)
        writer.flush()
