"""Compiled statements compared in pairs, as a child does it, on a fake accelerator."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from photometer.comparing import device_statements
from photometer.comparing.device_statements import DeviceReplicate, DeviceSettings, rank_built_on_device
from photometer.comparing.rank import Stopping
from photometer.errors import MeasurementError
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.instruments.device import torch_accelerator
from photometer.instruments.device.statement import Statement
from photometer.model.records import from_record, to_record
from photometer.session.session import Session
from photometer.stats.replicate import ReplicateEstimate
from photometer.worker import device_pairs
from photometer.worker.messages import LoopRequest, Reply, decode_reply, decode_request, encode_reply, encode_request
from tests.instruments.device.fake_device import FakeDevice, FakeKernel, FakeStatement

from .test_native_loop import compile_library, counts


class ChildHere:
    """A child whose loop requests cross the line, and are done in this process."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, request: Any, timeout_seconds: float) -> Reply:
        self.asked.append(request.verb)
        decoded, _ = decode_request(encode_request(request))
        if not isinstance(decoded, LoopRequest):
            return cast(Reply, None)
        return cast(Reply, decode_reply(request.reply, encode_reply(decoded.perform(float))))


class SessionHere:
    def __init__(self) -> None:
        self.lent = ChildHere()

    @contextlib.contextmanager
    def child(self) -> Iterator[ChildHere]:
        yield self.lent


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeDevice:
    device: FakeDevice = FakeDevice()
    monkeypatch.setattr(torch_accelerator, "open_accelerator", lambda name: device.accelerator())
    monkeypatch.setattr(device_pairs, "_open", contextlib.ExitStack())
    monkeypatch.setattr(device_pairs, "_pairs", [])
    return device


def rank(built: dict[str, BuiltSnippet], session: SessionHere) -> Any:
    return rank_built_on_device(
        cast(Session, session),
        built,
        DeviceSettings("cuda", source="events", seed=1),
        Stopping(5.0),
        num_threads=1,
        timeout_seconds=10.0,
    )


def test_the_slower_of_two_libraries_is_found(fake: FakeDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"one": 1e-3, "other": 1.05e-3}
    monkeypatch.setattr(
        device_statements,
        "open_native",
        lambda library, symbol: contextlib.nullcontext(
            Statement(FakeStatement(fake, (FakeKernel("k", seconds[symbol], seconds[symbol]),)), dict)
        ),
    )
    session = SessionHere()
    ranking = rank({each: BuiltSnippet(Path("a.so"), each, True) for each in seconds}, session)
    (pair,) = ranking.pairs
    assert pair.verdict.verdict == "slower"
    assert pair.verdict.ratio == pytest.approx(1.05, abs=0.002)
    assert pair.verdict.measured_by == "device time, hot cache, by events, on Fake 9000 at 1,980 MHz"
    assert session.lent.asked[:3] == ["prepare", "open-pairs", "take-replicate"]


@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler: apt install gcc")
def test_real_libraries_are_set_up_once_each(fake: FakeDevice, tmp_path: Path) -> None:
    library = compile_library(tmp_path)
    # On the fake device it does no work, and blocks without any cannot be compared.
    with pytest.raises(MeasurementError, match="took no time"):
        rank(dict.fromkeys("ab", BuiltSnippet(library, "snippet", True)), SessionHere())
    run = counts(library)
    assert run["setups"] == 2
    assert run["runs"] > 100


def test_a_replicate_crosses_the_line_whole() -> None:
    replicate = DeviceReplicate(ReplicateEstimate(0.1, 0.1, 0.01, 1.0, 1.1, 12), 1, False, (1980, 1965), 0.09)
    assert from_record(DeviceReplicate, to_record(replicate)) == replicate
