"""What torch reads of the world while a compilation is counted: the same in every process, and only then."""

from __future__ import annotations

import os
import time
import uuid

import pytest

from photometer.worker.compile_counts import CompileCount, fixed_bytes, stepping_clocks


def test_every_clock_goes_on_by_the_same_step_with_each_reading() -> None:
    def readings() -> list[float]:
        with stepping_clocks():
            return [time.time(), time.time(), time.perf_counter(), time.time_ns(), time.time_ns(), time.monotonic_ns()]

    own = time.time
    first = readings()
    assert readings() == first
    assert first[1] - first[0] == pytest.approx((first[4] - first[3]) / 1e9, rel=0.1)
    assert time.time is own


def test_clocks_come_back_after_an_error() -> None:
    own = time.perf_counter_ns
    with pytest.raises(KeyError), stepping_clocks():
        raise KeyError
    assert time.perf_counter_ns is own


def test_names_made_of_random_bytes_are_the_same_each_time() -> None:
    def names() -> list[str]:
        with fixed_bytes():
            return [str(uuid.uuid4()), os.urandom(5).hex()]

    assert names() == names()
    assert len(set(names())) == 2
    assert uuid.uuid4() != uuid.uuid4()


def test_there_is_nothing_to_count_outside_valgrind() -> None:
    with pytest.raises(RuntimeError, match="under Valgrind"):
        CompileCount(None, "")
