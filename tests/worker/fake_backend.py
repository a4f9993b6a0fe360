"""A private backend of torch that is made of numbers, and from which any part can be taken away."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

from photometer.worker.accelerators import Backend, TorchDevice

from .test_device_blocks import FakeCuda

NAME = "abacus"
# What torch.abacus has; a test names what it is to lack.
PARTS = (
    "is_available", "is_initialized", "device_count", "current_device", "set_device", "get_device_name",
    "get_device_properties", "synchronize", "Event", "_sleep", "Stream", "stream", "current_stream", "ABACUSGraph",
    "graph", "memory_stats", "reset_peak_memory_stats", "memory_allocated", "memory_reserved", "max_memory_allocated",
)  # fmt: skip


class FakeStream:
    def __init__(self, priority: int = 0) -> None:
        self.waited_for: list[Any] = []

    def wait_stream(self, other: Any) -> None:
        self.waited_for.append(other)


class Abacus:
    """The module torch.abacus, without the parts in `lacking`."""

    opened: bool
    current: int
    synchronize: Callable[..., Any]

    def __init__(self, *lacking: str, kernel_seconds: float = 2e-6, waits: bool = False) -> None:
        numbers = FakeCuda(kernel_seconds, waits=waits)
        stream = FakeStream()
        parts: dict[str, Any] = {
            "is_available": lambda: True,
            "is_initialized": lambda: self.opened,
            "device_count": lambda: 2,
            "current_device": lambda: self.current,
            "set_device": self._set_device,
            "get_device_name": lambda index: f"Abacus {index}",
            "get_device_properties": lambda index: types.SimpleNamespace(L2_cache_size=1024),
            "synchronize": lambda device=None: numbers.synchronize(),
            "Event": numbers.Event,
            "_sleep": numbers._sleep,
            "Stream": FakeStream,
            "stream": lambda stream: contextlib.nullcontext(),
            "current_stream": lambda: stream,
            "ABACUSGraph": lambda: None,
            "graph": lambda graph, stream: contextlib.nullcontext(),
            "memory_stats": lambda device: {"allocated_bytes.all.allocated": 512},
            "reset_peak_memory_stats": lambda device=None: None,
            "memory_allocated": lambda: 1,
            "memory_reserved": lambda: 2,
            "max_memory_allocated": lambda: 3,
        }
        assert set(parts) == set(PARTS)
        self.numbers, self.opened, self.current = numbers, False, 0
        self.__dict__.update({name: part for name, part in parts.items() if name not in lacking})

    def _set_device(self, index: int) -> None:
        self.current = index

    @property
    def device(self) -> TorchDevice:
        return TorchDevice(Backend(NAME, is_private=True), self)


def install(monkeypatch: pytest.MonkeyPatch, module: Abacus) -> Abacus:
    """Extend the torch of this process by the backend."""
    monkeypatch.setattr(torch, NAME, module, raising=False)
    monkeypatch.setattr(torch._C, "_get_privateuse1_backend_name", lambda: NAME)
    return module
