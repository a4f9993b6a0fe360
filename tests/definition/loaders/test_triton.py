"""Triton's perf_report as a suite of ours, without triton and without an accelerator."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from photometer.definition import GroupedBenchmark, load_suite
from photometer.definition.loaders import triton
from photometer.errors import DefinitionError
from tests.definition.loaders.projects import triton_file


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    return triton_file(tmp_path)


def test_lines_of_plots_are_benchmarks_and_their_points_sizes(file: Path) -> None:
    suite = load_suite(f"triton:{file}")
    assert suite.name == "_01_bench"
    assert [entry.label for entry in suite.entries] == [
        ("benchmark", "pointwise", "Exp"),
        ("benchmark", "pointwise", "Sin"),
    ]
    benchmark = suite.entries[0].benchmark
    assert isinstance(benchmark, GroupedBenchmark)
    assert benchmark.sizes == ((("n", 16),), (("n", 64),))
    assert benchmark.devices == ("cpu",)
    assert benchmark.defined_at == "01-bench.py:13"
    assert not [name for name in sys.modules if name.partition(".")[0] == "triton"]


def test_a_file_for_an_accelerator_is_listed_without_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton, "_DEVICE_FILES", ())
    file.write_text(
        file.read_text()
        + "\nDEVICE = triton.runtime.driver.active.get_active_torch_device()\n"
        + "y = torch.rand(3, device=DEVICE)\nkernel[(1,)](y, BLOCK=2)\n"
    )
    suite = load_suite(f"triton:{file}")
    benchmark = suite.entries[0].benchmark
    assert isinstance(benchmark, GroupedBenchmark)
    assert benchmark.devices == ("cuda",)
    (note,) = suite.notes
    assert note.startswith("01-bench.py: 2 of its statements could not be run, as there is no accelerator here")


def test_points_that_are_no_sizes_are_labels(file: Path) -> None:
    file.write_text(file.read_text().replace("x_vals=[16, 64]", "x_vals=[[(2, 3)], [[4]]]"))
    assert load_suite(f"triton:{file}").entries[1].label == ("benchmark", "pointwise", "Exp", "n=[4]")


@pytest.mark.parametrize(
    ("right", "wrong"), [("x_vals=[16, 64]", "x_vals=[[16, 64]]"), ('line_names=["Exp", "Sin"]', "line_names=['Exp']")]
)
def test_plots_that_triton_could_not_draw(file: Path, right: str, wrong: str) -> None:
    assert right in file.read_text()
    file.write_text(file.read_text().replace(right, wrong))
    with pytest.raises(DefinitionError, match="a perf_report is not as triton needs it"):
        load_suite(f"triton:{file}")


def test_mistakes(file: Path) -> None:
    with pytest.raises(DefinitionError, match="is a folder"):
        load_suite(f"triton:{file.parent}")
    file.write_text("import triton\n\n1 / 0\n")
    with pytest.raises(DefinitionError, match=r"01-bench\.py:3: .*ZeroDivisionError"):
        load_suite(f"triton:{file}")
    file.write_text("import triton\n")
    with pytest.raises(DefinitionError, match="has no benchmarks"):
        load_suite(f"triton:{file}")
