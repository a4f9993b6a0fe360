"""Peaks: what is asked of a child, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from photometer.errors import DefinitionError
from photometer.instruments import work
from photometer.instruments.work import check_device, peak_of
from photometer.worker.messages import Prepare
from tests.session.fake_session import FakeServers


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path))
    return tmp_path / "peaks"


def asked(servers: FakeServers) -> list[Prepare]:
    return [request for server in servers.made for request in server.log if isinstance(request, Prepare)]


def test_the_best_matrix_and_a_copy_are_kept_by_threads_and_type(cache: Path) -> None:
    servers = FakeServers()
    with servers.session() as session:
        first = peak_of(session, num_threads=2)
        # A microsecond per run, whatever runs: the largest matrix is the best.
        assert first.flops_per_second == pytest.approx(2 * 4096**3 / 1e-6, rel=0.05)
        assert first.bytes_per_second == pytest.approx(2 * work.CPU_COPY_BYTES / 1e-6, rel=0.05)
        measured = len(asked(servers))
        assert {prepare.num_threads for prepare in asked(servers)} == {2}
        assert peak_of(session, num_threads=2) == first
        assert len(asked(servers)) == measured
        peak_of(session, num_threads=1)
        peak_of(session, num_threads=2, again=True)
        assert len(asked(servers)) == 3 * measured
    assert len(list(cache.glob("*.json"))) == 2


def test_an_accelerator_is_waited_for_and_has_no_threads() -> None:
    servers = FakeServers()
    with servers.session() as session:
        peak = peak_of(session, device="cuda", num_threads=4, dtype="bfloat16")
    assert (peak.device, peak.num_threads, peak.dtype) == ("cuda", 1, "bfloat16")
    assert all(prepare.synchronize and prepare.device == "cuda" for prepare in asked(servers))
    assert any("torch.bfloat16" in prepare.setup for prepare in asked(servers))


@pytest.mark.parametrize("damage", ["", "{}", "[1]", '{"kind": "machine_peak"}'])
def test_a_damaged_file_is_measured_again(cache: Path, damage: str) -> None:
    servers = FakeServers()
    with servers.session() as session:
        first = peak_of(session)
        (file,) = cache.glob("*.json")
        file.write_text(damage)
        assert peak_of(session) == first
    assert json.loads(file.read_text())["kind"] == "machine_peak"


def test_a_type_without_matrices_is_compared_with_float32() -> None:
    with FakeServers().session() as session:
        assert peak_of(session, dtype="int8").dtype == "float32"


def test_a_device_that_is_not_there_is_said() -> None:
    with FakeServers().session() as session, pytest.raises(DefinitionError, match="no device 'cuda'"):
        check_device(session, "cuda")
