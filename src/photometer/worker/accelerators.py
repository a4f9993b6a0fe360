"""Accelerators: one entry per kind of device that torch may have, and the functions of an opened device of any kind.

Most is the same for all kinds: torch.KIND has synchronize, Event, Stream and memory_stats, KINDGraph captures graphs,
and the profiler's activity is called KIND. BACKENDS has the differences. A private backend needs no entry. Any part may
be missing: `TorchDevice.why_missing` says why. Standard library only; torch is passed in, and only `open_device` opens
a device.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

# What torch calls backends that it does not know, in its profiler and as a device.
PRIVATE_ACTIVITY, PRIVATE_TYPE = "PrivateUse1", "privateuseone"
NVML = "nvml"


class NoDevice(RuntimeError):
    """A device that this torch, or this machine, does not have, or that lacks a part."""


@dataclasses.dataclass(frozen=True)
class Backend:
    """A kind of device: `kind` is the name of its devices and of its module in torch."""

    kind: str
    # What torch.version has in a build for it; for the others torch.backends or the module itself tells.
    versions: tuple[str, ...] = ()
    # What its driver opens: a process that is forked after that cannot use the device.
    files: tuple[str, ...] = ()
    # The user's variables that choose its devices and libraries.
    variables: tuple[str, ...] = ()
    # Those of torch's libraries that a C++ snippet may need.
    libraries: tuple[str, ...] = ()
    # Those of `variables` that hide all devices but the listed ones from a process: the one that is set, or the first.
    hiding: tuple[str, ...] = ()
    # Where clocks and energy are read, if anywhere.
    sensors: str = ""
    is_private: bool = False

    @property
    def activity(self) -> str:
        """Its name in torch's profiler."""
        return PRIVATE_ACTIVITY if self.is_private else self.kind.upper()

    @property
    def device_type(self) -> str:
        """The name that the profiler's events give its devices."""
        return PRIVATE_TYPE if self.is_private else self.kind

    def module(self, torch: Any) -> Any:
        return getattr(torch, self.kind, None)

    def is_built(self, torch: Any) -> bool:
        """Return whether this torch was built for it, or has been extended by it. Opens no device."""
        if self.versions:
            return any(getattr(getattr(torch, "version", None), name, None) for name in self.versions)
        module = self.module(torch)
        ask = getattr(self._settings(torch), "is_built", None) or getattr(module, "_is_compiled", None)
        return bool(ask()) if ask is not None else module is not None

    def is_available(self, torch: Any) -> bool:
        """Return whether there is a device. After this a fork of the process may no longer be able to use it."""
        module = self.module(torch)
        ask = getattr(module, "is_available", None) or getattr(self._settings(torch), "is_available", None)
        return module is not None and ask is not None and bool(ask())

    def was_started(self, torch: Any) -> bool | None:
        """Return whether this process has opened a device; None if the backend cannot tell. Counts no devices."""
        ask = getattr(self.module(torch), "is_initialized", None)
        return None if ask is None else bool(ask())

    def _settings(self, torch: Any) -> Any:
        return getattr(getattr(torch, "backends", None), self.kind, None)


BACKENDS = (
    # ROCm's torch calls itself CUDA.
    Backend(
        "cuda",
        versions=("cuda", "hip"),
        files=("/dev/nvidia", "/dev/kfd"),
        variables=("CUDA_VISIBLE_DEVICES", "CUDA_HOME", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ROCM_HOME"),
        libraries=("c10_cuda", "torch_cuda", "c10_hip", "torch_hip"),
        hiding=("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
        sensors=NVML,
    ),
    Backend(
        "xpu",
        versions=("xpu",),
        files=("/dev/dri",),
        variables=("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"),
        libraries=("c10_xpu", "torch_xpu"),
        hiding=("ZE_AFFINITY_MASK",),
    ),
    Backend("mps"),
    Backend("mtia"),
    Backend("hpu", files=("/dev/accel", "/dev/habanalabs"), variables=("HABANA_VISIBLE_DEVICES",)),
    Backend(
        "npu",
        files=("/dev/davinci",),
        variables=("ASCEND_RT_VISIBLE_DEVICES",),
        hiding=("ASCEND_RT_VISIBLE_DEVICES",),
        is_private=True,
    ),
)

_NAMED = re.compile(rf"\b({'|'.join((*(each.kind for each in BACKENDS), 'accelerator'))})\b")

# The attributes of torch.KIND that each part needs, and what to say if one is missing. {graph} is KINDGraph.
_PARTS: dict[str, tuple[tuple[str, ...], str]] = {
    "synchronize": (("synchronize",), "torch.{kind} cannot wait for its devices"),
    "events": (("Event",), "torch.{kind} has no events to time with"),
    "streams": (("Stream", "stream", "current_stream"), "torch.{kind} has no streams"),
    "spin": (("_sleep",), "torch.{kind} has no kernel that only waits: launches cannot be hidden"),
    "graphs": (("{graph}", "graph"), "torch.{kind} has no graphs"),
    "memory": (
        ("memory_stats", "reset_peak_memory_stats", "memory_allocated", "memory_reserved", "max_memory_allocated"),
        "torch.{kind} does not report memory",
    ),
}


def names_accelerator(text: str) -> bool:
    """Return whether code names a kind of accelerator, so that it may use one."""
    return _NAMED.search(text) is not None


def all_of(values: Callable[[Backend], Iterable[str]]) -> tuple[str, ...]:
    """Return what all entries of the table have, such as their files, in order."""
    return tuple(value for backend in BACKENDS for value in values(backend))


def known_backends(torch: Any) -> tuple[Backend, ...]:
    """Return the table, and the private backend that extends this torch, if it is not in it."""
    ask = getattr(getattr(torch, "_C", None), "_get_privateuse1_backend_name", None)
    name = "" if ask is None else str(ask())
    if not name or not hasattr(torch, name) or any(backend.kind == name for backend in BACKENDS):
        return BACKENDS
    return (*BACKENDS, Backend(name, is_private=True))


def find_backend(kind: str, torch: Any) -> Backend:
    """Return the entry of a kind of device; for an unknown one, an entry without functions."""
    return next((backend for backend in known_backends(torch) if backend.kind == kind), Backend(kind))


def is_built(torch: Any) -> bool:
    """Return whether this torch can use any accelerator at all. Asks no device."""
    return any(backend.is_built(torch) for backend in known_backends(torch))


def was_started(torch: Any) -> bool:
    """Return whether this process has opened an accelerator that tells so. Opens and counts none."""
    return any(backend.was_started(torch) for backend in known_backends(torch))


def default_kind(torch: Any) -> str | None:
    """Return the kind of accelerator that this machine and this torch have."""
    current = getattr(torch, "accelerator", None)
    # Since torch 2.6 it says so itself.
    if current is not None and current.is_available():
        return str(current.current_accelerator().type)
    return next((backend.kind for backend in known_backends(torch) if backend.is_available(torch)), None)


def device_names(torch: Any) -> list[str]:
    """Return every kind of accelerator that is there, and each device by its number: `cuda`, `cuda:0`, `cuda:1`."""
    found: list[str] = []
    for backend in known_backends(torch):
        if backend.is_available(torch):
            count = getattr(backend.module(torch), "device_count", lambda: 1)()
            found += [backend.kind, *(f"{backend.kind}:{index}" for index in range(count))]
    return found


def device_models(torch: Any) -> dict[str, str]:
    """Return the maker's name of each device by its number, if there are several of its kind. Opens these devices."""
    found: dict[str, str] = {}
    for backend in known_backends(torch):
        module = backend.module(torch)
        if backend.is_available(torch) and getattr(module, "device_count", lambda: 1)() > 1:
            name_of = getattr(module, "get_device_name", lambda index: "")
            found |= {f"{backend.kind}:{index}": str(name_of(index)) for index in range(module.device_count())}
    return found


def hiding_variable(kind: str, variables: Mapping[str, str]) -> str | None:
    """Return the variable by which the devices of a kind are hidden from a process; None if there is none."""
    names = next((backend.hiding for backend in BACKENDS if backend.kind == kind), ())
    return next((name for name in names if variables.get(name)), names[0] if names else None)


def listed_devices(kind: str, numbers: Sequence[int], variables: Mapping[str, str]) -> list[str]:
    """Return the driver's names of devices that torch numbers so: they are counted among those that are not hidden."""
    listed = variables.get(hiding_variable(kind, variables) or "", "")
    names = [part.strip() for part in listed.split(",") if part.strip()]
    return [names[number] if number < len(names) else str(number) for number in numbers]


def see_only(kind: str, numbers: Sequence[int], variables: MutableMapping[str, str]) -> None:
    """Hide all devices of a kind from this process but these, which torch then numbers from 0. Before one is opened."""
    name = hiding_variable(kind, variables)
    if name is None:
        raise NoDevice(f"nothing hides {kind} devices from a process")
    variables[name] = ",".join(listed_devices(kind, numbers, variables))


def device_in_use(torch: Any) -> TorchDevice | None:
    """Return the accelerator that may have work of this process queued; None if there cannot be any. Opens none."""
    for backend in known_backends(torch):
        started = backend.was_started(torch)
        # One that does not tell (MPS) may have work queued at any time.
        if started or (started is None and backend.is_available(torch)):
            return TorchDevice(backend, backend.module(torch))
    return None


def open_device(torch: Any, name: str = "") -> TorchDevice:
    """Open a device ("cuda", "cuda:1", by default the one there is) and make it the current one."""
    kind, _, number = (name or default_kind(torch) or "").partition(":")
    if not kind:
        raise NoDevice(f"this machine has no accelerator that this torch ({torch.__version__}) can use")
    backend = find_backend(kind, torch)
    # The CPU has a module of the same shape, torch.cpu.
    if kind == "cpu" or not backend.is_available(torch):
        raise NoDevice(f"there is no {kind} device that this torch ({torch.__version__}) can use")
    device = TorchDevice(backend, backend.module(torch))
    if number:
        device.choose(int(number))
    return device


class TorchDevice:
    """A kind of accelerator through its module of torch, part by part."""

    def __init__(self, backend: Backend, module: Any) -> None:
        self.backend, self.module = backend, module

    @property
    def kind(self) -> str:
        return self.backend.kind

    @property
    def index(self) -> int:
        """Return the number of the current device; a backend of one device has no function for it."""
        return int(getattr(self.module, "current_device", int)())

    @property
    def name(self) -> str:
        """Return the maker's name of the device."""
        ask = getattr(self.module, "get_device_name", None)
        return str(ask(self.index)) if ask is not None else self.kind

    @property
    def properties(self) -> Any:
        """Return torch's description of the device, or None."""
        ask = getattr(self.module, "get_device_properties", None)
        return ask(self.index) if ask is not None else None

    def why_missing(self, part: str) -> str | None:
        """Return why a part cannot be used; None if it is there."""
        names, sentence = _PARTS[part]
        graph = f"{self.kind.upper()}Graph"
        missing = any(not hasattr(self.module, name.format(graph=graph)) for name in names)
        return sentence.format(kind=self.kind) if missing else None

    def need(self, part: str) -> None:
        """Raise if a part is missing."""
        if (why := self.why_missing(part)) is not None:
            raise NoDevice(why)

    def choose(self, index: int) -> None:
        """Make the device of this number the current one."""
        if hasattr(self.module, "set_device"):
            self.module.set_device(index)
        elif index != self.index:
            raise NoDevice(f"torch.{self.kind} has one device, whose number is {self.index}")

    def synchronize(self) -> None:
        """Wait until the device has nothing left to do."""
        self.need("synchronize")
        self.module.synchronize()

    def event(self) -> Any:
        """Return a mark for the device's queue that remembers when it was passed."""
        self.need("events")
        return self.module.Event(enable_timing=True)

    @property
    def spin(self) -> Callable[[int], object] | None:
        """Return a kernel that waits for a number of cycles, if there is one."""
        found: Callable[[int], object] | None = getattr(self.module, "_sleep", None)
        return found

    def new_graph(self) -> Any:
        """Return a graph that nothing has been captured in yet."""
        self.need("graphs")
        return getattr(self.module, f"{self.kind.upper()}Graph")()

    def own_stream(self) -> contextlib.AbstractContextManager[Any]:
        """Work in a new stream: the default one, and what a set-up ties to it, cannot be captured."""
        self.need("streams")
        stream: contextlib.AbstractContextManager[Any] = self.module.stream(self.module.Stream())
        return stream
