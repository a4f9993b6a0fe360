"""The mark's `device`: what a machine without an accelerator says, and what one with a GPU measures.

On a machine with a GPU, without installing anything: PYTHONPATH=src python3 -m pytest -m gpu tests/pytest_plugin
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import photometer
from tests.pytest_plugin.nested_session import records_in, run_nested

pytestmark = pytest.mark.lengthy

HAS_CUDA = torch.cuda.is_available()
CODE = """
    import pytest
    import torch

    pytestmark = pytest.mark.photometer(device="cuda", min_time=0.02)

    @pytest.fixture
    def matrix():
        return torch.randn(1024, 1024, device="cuda")

    def test_softmax(photometer, matrix):
        assert photometer(torch.softmax, matrix, -1).device.type == "cuda"

    def test_their_fixture(benchmark, matrix):
        benchmark(torch.add, matrix, 1.0)
        assert benchmark.stats is None

    def test_choice(photometer, matrix):
        verdict = photometer.ab(lambda: matrix[:512].exp(), lambda: matrix.exp(), budget=1.0)
        assert verdict.verdict in ("slower", "undecided")

    @pytest.mark.photometer(device="cpu")
    def test_on_the_host(photometer):
        photometer(max, 1, 2)
"""


@pytest.mark.skipif(HAS_CUDA, reason="there is a CUDA device")
@pytest.mark.parametrize("option", ["--photometer-min-time=0.005", "--photometer-off"])
def test_without_the_device_tests_are_skipped_before_their_fixtures(tmp_path: Path, option: str) -> None:
    done = run_nested(tmp_path, CODE, option)
    skipped = dict.fromkeys(("test_softmax", "test_their_fixture", "test_choice"), "skipped")
    assert done.outcomes == {**skipped, "test_on_the_host": "passed"}
    assert "no cuda device that this torch" in done.texts["test_softmax"]
    assert "Run on a machine with one" in done.texts["test_softmax"]


def test_a_setup_for_each_round_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.pytest_plugin.measuring.skip_without_device", lambda item: None)
    code = """
        import pytest

        @pytest.mark.photometer(device="cuda")
        def test_setup(benchmark):
            benchmark.pedantic(max, setup=lambda: ((1, 2), {}), rounds=3)
    """
    done = run_nested(tmp_path, code)
    assert "make the arguments before" in done.texts["test_setup"]


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_CUDA, reason="needs a CUDA device; this torch finds none")
def test_the_table_of_modes_is_measured_shown_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    done = run_nested(tmp_path, CODE, f"--photometer-json={file}")
    assert set(done.outcomes.values()) == {"passed"}, done.texts
    results = photometer.load(file)
    kinds = {record["test"].partition("::")[2]: record["kind"] for record in records_in(file)}
    assert kinds["test_softmax"] == kinds["test_their_fixture"] == "device_measurement"
    assert [each.task_spec.sub_label for each in results.measurements] == ["test_on_the_host"]
    assert torch.cuda.get_device_name() in done.output
