"""Comparing two environments on an accelerator: what is left out without one, and real verdicts with one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from photometer.comparing.environments import compare
from photometer.definition import GroupedSetup, GroupedStmts
from photometer.definition.grouped import GroupedBenchmark
from photometer.execution.run_settings import RunSettings
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.results_reader import load_results
from photometer.pipeline import run_suite

SETUP = "import os; n = 2**20 * int(os.environ.get('WORK', '100')); x = torch.rand(n, device=device)"

needs_device = pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator")


def suite(*devices: str) -> dict[str, GroupedBenchmark]:
    return {"add": GroupedStmts("y = x + 1", None, GroupedSetup(SETUP), devices=devices)}


@pytest.mark.lengthy
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_benchmarks_for_an_accelerator_that_is_not_there_are_left_out_and_said() -> None:
    found = compare(
        ["env:WORK=1", "env:WORK=1"], suite("cpu", "cuda"), instructions=False, memory=False, layouts=1, budget=0.5
    )
    assert [result.title for result in found] == ["add [cpu]"]
    assert found.failures == ()
    assert any("1 benchmarks for an accelerator are left out" in warning for warning in found.warnings)


@pytest.mark.gpu
@needs_device
def test_more_work_on_the_device_is_found_and_equal_work_is_the_same() -> None:
    slower = compare(["current", "env:WORK=105"], suite("cuda"), budget=8.0)
    (result,) = slower
    assert result.verdict == "slower"
    assert result.ratio == pytest.approx(1.05, abs=0.01)
    assert "device time" in result.cause
    (result,) = compare(["current", "env:NOTHING=1"], suite("cuda"), budget=8.0)
    assert result.verdict in ("same", "undecided")


@pytest.mark.gpu
@needs_device
def test_a_run_has_the_table_of_modes_for_every_order_on_the_device(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(
        "from photometer import GroupedSetup, GroupedStmts\n"
        f"BENCHMARKS = {{'add': GroupedStmts('y = x + 1', None, GroupedSetup({SETUP!r}), devices=('cpu', 'cuda'))}}\n"
    )
    report = run_suite(str(tmp_path / "suite.py"), tmp_path / "out", RunSettings(options={"instructions": False}))
    assert report.results is not None
    (measured,) = load_results(report.results).of(DeviceMeasurement)
    # 100 Mi floats read and written: no card moves 800 MiB in less than 50 µs.
    assert measured.hot.median > 50e-6
    assert measured.kernels_per_run == 1
    (cell,) = [cell for cell in report.table.cells() if cell.device_seconds is not None]
    assert cell.device_seconds == measured.hot.median
