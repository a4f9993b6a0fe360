"""Device modes as a child measures them, with photometer's own package and a fake accelerator."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

import photometer
from photometer.instruments.device import torch_accelerator
from photometer.model.device_measurement import DeviceMeasurement, ModeName
from photometer.model.records import from_record
from photometer.worker.device_modes import load_package, measure_modes
from photometer.worker.figure_messages import DeviceModes, MeasureDevice
from photometer.worker.messages import decode_reply, encode_reply
from tests.instruments.device.fake_device import FakeDevice, FakeGraphs

from .test_native_loop import compile_library, counts


def opened_devices(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Have a fake device opened; return the names it is asked for by."""
    device: FakeDevice = FakeDevice()
    opened: list[str | None] = []

    def open_fake(name: str | None) -> object:
        opened.append(name)
        return device.accelerator(graphs=FakeGraphs(device))

    monkeypatch.setattr(torch_accelerator, "open_accelerator", open_fake)
    return opened


def test_modes_are_measured_and_cross_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = opened_devices(monkeypatch)
    request = MeasureDevice(
        package=str(Path(photometer.__file__)),
        stmt="y = x + 1",
        setup="x = torch.ones(256)",
        options={"min_run_time": 0.01},
        device="cuda",
        num_threads=torch.get_num_threads(),
    )
    reply = decode_reply(DeviceModes, encode_reply(measure_modes(request)))
    assert isinstance(reply, DeviceModes)
    found = from_record(DeviceMeasurement, reply.measurement)
    assert opened == ["cuda"]
    assert found.task_spec.stmt == "y = x + 1"
    assert found.mode(ModeName.HOST).measured


@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler: apt install gcc")
def test_modes_of_a_compiled_statement_are_those_of_its_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened, library = opened_devices(monkeypatch), compile_library(tmp_path)
    request = MeasureDevice(
        package=str(Path(photometer.__file__)),
        stmt="auto y = x + 1;",
        setup="",
        options={"min_run_time": 0.01},
        num_threads=torch.get_num_threads(),
        library=str(library),
        symbol="snippet",
    )
    found = from_record(DeviceMeasurement, measure_modes(request).measurement)
    assert opened == [None]
    assert found.mode(ModeName.HOST).measured
    run = counts(library)
    assert run["runs"] > 100
    assert run["setups"] == run["closes"] == 1


def test_a_package_is_loaded_from_its_file_and_nothing_beside_it(tmp_path: Path) -> None:
    package = tmp_path / "planted_package"
    package.mkdir()
    (package / "__init__.py").write_text("VALUE = 1\n")
    (package / "part.py").write_text("PART = 2\n")
    (tmp_path / "planted_neighbour.py").write_text("")
    load_package("planted_package", str(package / "__init__.py"))
    import planted_package.part  # type: ignore[import-not-found]

    assert (planted_package.VALUE, planted_package.part.PART) == (1, 2)
    with pytest.raises(ImportError):
        import planted_neighbour  # type: ignore[import-not-found]  # noqa: F401
