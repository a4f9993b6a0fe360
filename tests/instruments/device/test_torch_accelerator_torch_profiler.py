from __future__ import annotations

import os
from dataclasses import dataclass

import pytest
import torch

from photometer.instruments.device.torch_accelerator import (
    TEARDOWN,
    can_detach,
    device_records,
    environment_restored,
    profiler_supports,
)
from photometer.worker.accelerators import Backend


@dataclass
class FakeType:
    name: str


@dataclass
class FakeEvent:
    """What the profiler's events return, as far as it is used."""

    label: str
    start: int
    kind: str = "CUDA"
    annotation: bool = False

    def name(self) -> str:
        return self.label

    def device_type(self) -> FakeType:
        return FakeType(self.kind)

    def is_user_annotation(self) -> bool:
        return self.annotation

    def start_ns(self) -> int:
        return self.start

    def duration_ns(self) -> int:
        return 10

    def device_resource_id(self) -> int:
        return 7


def test_only_the_devices_own_work_is_kept_by_start() -> None:
    events = [
        FakeEvent("late", 200),
        FakeEvent("cudaLaunchKernel", 50, kind="CPU"),
        FakeEvent("a region", 10, annotation=True),
        FakeEvent("early", 100),
    ]
    assert [record.name for record in device_records(events, "cuda")] == ["early", "late"]


def test_detaching_needs_a_recent_cuda_and_the_users_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TEARDOWN, raising=False)
    for version, possible in ((None, False), ("11.8", False), ("12.4", False), ("12.6", True), ("13.0", True)):
        monkeypatch.setattr(torch.version, "cuda", version)
        assert can_detach() is possible
    monkeypatch.setenv(TEARDOWN, "0")
    assert not can_detach()


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TEARDOWN, raising=False)
    with environment_restored(TEARDOWN):
        os.environ[TEARDOWN] = "1"
    assert TEARDOWN not in os.environ
    monkeypatch.setenv(TEARDOWN, "0")
    with environment_restored(TEARDOWN):
        os.environ[TEARDOWN] = "1"
    assert os.environ[TEARDOWN] == "0"


def test_a_device_no_profiler_knows_is_not_supported() -> None:
    assert not profiler_supports(Backend("abacus"))
