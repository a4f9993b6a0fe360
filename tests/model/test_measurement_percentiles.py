"""Percentiles: of runs, or of blocks, and labelled as what they are."""

from __future__ import annotations

import pytest

from photometer.errors import MeasurementError
from photometer.model.measurement import Measurement
from photometer.model.task import TaskSpec
from photometer.report.run_text import BLOCKS_NOTE, table_of_percentiles
from photometer.report.tables.as_text import render_text

SPEC = TaskSpec("f()", "pass")
TIMES = [float(n) for n in range(1, 102)]


def test_percentiles_of_single_runs() -> None:
    m = Measurement(1, TIMES, SPEC)
    assert [m.percentile(p) for p in (0, 50, 99, 100)] == [1.0, 51.0, 100.0, 101.0]
    assert m.percentiles_are_of == "runs"
    text = render_text(table_of_percentiles([m]), 120)
    assert "runs" in text
    assert BLOCKS_NOTE not in text


def test_percentiles_of_blocks_are_per_run_and_said_to_be_of_blocks() -> None:
    m = Measurement(10, TIMES, SPEC)
    assert m.percentile(50) == pytest.approx(5.1)
    text = " ".join(render_text(table_of_percentiles([m]), 120).split())
    assert "blocks of 10 runs" in text
    assert BLOCKS_NOTE in text


@pytest.mark.parametrize("percent", [-1, 101, float("nan")])
def test_other_numbers_are_refused(percent: float) -> None:
    with pytest.raises(MeasurementError, match="is not a percentile"):
        Measurement(1, TIMES, SPEC).percentile(percent)
