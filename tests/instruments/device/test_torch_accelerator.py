"""Without a GPU: the error is clear. With one (marker gpu): real measurements."""

from __future__ import annotations

import pytest
import torch

from photometer import Timer
from photometer.errors import DefinitionError, DeviceMissing
from photometer.instruments.device.torch_accelerator import open_accelerator
from photometer.model.device_measurement import DeviceWarningKind, Source
from tests.worker.fake_backend import Abacus, install

needs_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; this torch finds none"),
]
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")


@without_gpu
def test_no_accelerator_is_a_clear_message() -> None:
    with pytest.raises(DeviceMissing, match=r"can use\nRun on a machine with one"):
        open_accelerator("cuda")
    with pytest.raises(DeviceMissing, match="CPU"):
        open_accelerator("cpu")
    with pytest.raises(DeviceMissing):
        open_accelerator("abacus:3")


@pytest.mark.parametrize(
    ("lacking", "missing"),
    [
        ((), {"clocks", "profiler"}),
        (("Stream",), {"clocks", "profiler", "graphs"}),
        (("ABACUSGraph",), {"clocks", "profiler", "graphs"}),
        (("memory_stats",), {"clocks", "profiler", "memory"}),
        (("_sleep", "get_device_properties", "get_device_name", "current_device"), {"clocks", "profiler"}),
    ],
)
def test_a_backend_is_opened_with_the_parts_it_has(
    lacking: tuple[str, ...], missing: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Abacus(*lacking))
    opened = open_accelerator("abacus:0")
    assert {part for part, _ in opened.missing} == missing
    assert (opened.graphs is None, opened.memory is None) == ("graphs" in missing, "memory" in missing)
    assert "abacus" in opened.why_missing("clocks")
    start = opened.queue.mark()
    opened.queue.synchronize()
    assert opened.queue.has_passed(start)


@pytest.mark.parametrize(("lacking", "words"), [("Event", "no events"), ("synchronize", "cannot wait")])
def test_a_backend_that_cannot_be_timed_is_refused(lacking: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Abacus(lacking))
    with pytest.raises(DeviceMissing, match=words):
        open_accelerator("abacus")


@without_gpu
def test_a_timer_without_an_accelerator_says_so_and_still_times() -> None:
    timer = Timer("torch.ones(3)")
    with pytest.raises(DeviceMissing):
        timer.measure_device("cuda")
    assert timer.timeit(10).median > 0


def test_options_are_checked_before_a_device_is_looked_for() -> None:
    with pytest.raises(DefinitionError, match="source"):
        Timer("pass").measure_device(source="guess")  # type: ignore[arg-type]


class TestOnARealGpu:
    pytestmark = needs_gpu

    def test_a_short_kernel_is_timed_apart_from_its_launch(self) -> None:
        setup = "x, y = torch.randn(256, device='cuda'), torch.randn(256, device='cuda')"
        found = Timer("torch.add(x, y)", setup).measure_device(min_run_time=0.1)
        assert found.hot.source is Source.PROFILER
        assert found.hot.median < found.host.median
        assert found.hot.cross_check is not None
        assert found.hot.median < found.hot.cross_check.seconds_per_run
        assert found.cold.median > found.hot.median
        assert found.kernels_per_run == 1
        assert found.graph.measured
        assert found.bound.startswith("launch-bound")

    def test_a_long_copy_agrees_by_both_sources(self) -> None:
        setup = "x = torch.randn(2**26, device='cuda'); y = torch.empty_like(x)"
        found = Timer("y.copy_(x)", setup).measure_device(min_run_time=0.1, bytes_per_run=2 * 2**28)
        assert found.hot.source is Source.EVENTS
        assert found.hot.cross_check is not None
        assert found.hot.median == pytest.approx(found.hot.cross_check.seconds_per_run, rel=0.05)
        assert found.bound.startswith("memory-bound")

    def test_a_statement_that_waits_is_found_out(self) -> None:
        found = Timer("x.sum().item()", "x = torch.randn(2**20, device='cuda')").measure_device(min_run_time=0.05)
        assert DeviceWarningKind.SYNCHRONISES in {warning.kind for warning in found.warnings}
        assert not found.graph.measured

    def test_backward_can_be_captured(self) -> None:
        setup = "m = torch.nn.Linear(64, 64, device='cuda'); x = torch.randn(8, 64, device='cuda')"
        found = Timer("loss = m(x).sum(); loss.backward()", setup).measure_device(min_run_time=0.05)
        assert found.graph.measured, found.graph.absent_because
        assert (found.kernels_per_run or 0) > 3

    def test_letting_the_profiler_go_leaves_the_next_session_whole(self) -> None:
        timer = Timer("torch.add(x, x)", "x = torch.randn(256, device='cuda')")
        counts = [timer.measure_device(min_run_time=0.05).kernels_per_run for _ in range(3)]
        assert counts == [1, 1, 1]

    def test_sensors_are_read(self) -> None:
        accelerator = open_accelerator()
        if accelerator.clocks is None:
            pytest.skip(accelerator.why_missing("clocks"))
        assert (accelerator.clocks.read().sm_megahertz or 0) > 0
