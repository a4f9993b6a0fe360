"""The processor's counter: it works, or it says why not and what to do."""

from __future__ import annotations

import errno
import os

import pytest

from photometer.errors import DefinitionError, ToolMissing
from photometer.instruments import processor_instructions
from photometer.instruments.processor_instructions import (
    PerfCounter,
    count_by_processor,
    explain_refusal,
    perf_refusal,
)
from photometer.model.run_figures import ProcessorCounts
from photometer.model.task import TaskSpec
from photometer.timing import Timer

SPEC = TaskSpec("pass", "pass")


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.EACCES, "perf_event_paranoid is 4"),
        (errno.EPERM, "CAP_PERFMON"),
        (errno.ENOENT, "virtual machines"),
        (errno.ENOSYS, "without perf events"),
        (errno.E2BIG, "E2BIG"),
    ],
)
def test_refusals_name_the_cause_and_the_way_out(number: int, message: str) -> None:
    text = explain_refusal(number, "4")
    assert message in text
    assert "Callgrind" in text or "set kernel" in text


def test_where_it_is_refused_the_timer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError(errno.EACCES, "no")

    perf_refusal.cache_clear()
    monkeypatch.setattr(processor_instructions, "_open", refuse)
    try:
        with pytest.raises(ToolMissing, match="does not allow"):
            Timer("pass").count_by_processor()
    finally:
        perf_refusal.cache_clear()


def test_counts_where_the_kernel_allows_it() -> None:
    if perf_refusal() is not None:
        with pytest.raises(ToolMissing):
            PerfCounter()
        return
    few, many = (Timer("sum(range(100))").count_by_processor(n).instructions_per_run for n in (100, 1000))
    assert few == pytest.approx(many, rel=0.05)


def test_the_call_itself_by_a_software_event() -> None:
    """Page faults are counted on machines without hardware counters too: the structure and the numbers are right."""
    try:
        descriptor = processor_instructions.open_event(1, 2)
    except PermissionError:
        pytest.skip("this kernel refuses all perf events")
    try:
        counter = PerfCounter.__new__(PerfCounter)
        counter._descriptor = descriptor
        assert counter.count(lambda n: bytearray(n), 64 << 20) > counter.count(lambda n: None, 1)
    finally:
        os.close(descriptor)


def test_only_python_loops() -> None:
    with pytest.raises(DefinitionError, match="Python"):
        count_by_processor(object(), SPEC, 1, 1)


def test_counts_are_the_medians_difference() -> None:
    counts = ProcessorCounts(SPEC, 10, (1100, 1000, 5000), (100, 120, 110))
    assert counts.instructions_per_run == (1100 - 110) / 10
    assert counts.spread == 4000 / 1100
    assert "99.0 instructions per run" in str(counts)
    assert repr(counts).startswith("<photometer.ProcessorCounts 99.0 per run")
