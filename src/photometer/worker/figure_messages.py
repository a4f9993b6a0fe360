"""Messages that ask for figures besides time: the work of a run, numbers in its variables, modes of a device.

See messages.py.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from .messages import Reply, Request


@dataclasses.dataclass(frozen=True)
class Work(Reply):
    """FLOPs and bytes of one run, None if there are none; and the type that most of the FLOPs are done in."""

    flops: float | None
    bytes: float | None
    dtype: str = ""


@dataclasses.dataclass(frozen=True)
class Observed(Reply):
    """The values of each name, one per run."""

    values: list[list[float]]


@dataclasses.dataclass(frozen=True)
class DeviceModes(Reply):
    """The record of a DeviceMeasurement."""

    measurement: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class CountWork(Request[Work]):
    """Run the statement once, and count its FLOPs and the bytes that it must move (see work_counter.py)."""

    verb: ClassVar[str] = "count-work"
    reply: ClassVar[type[Reply]] = Work


@dataclasses.dataclass(frozen=True)
class Observe(Request[Observed]):
    """Run the Python statement so often, and read numbers from its variables after each run."""

    verb: ClassVar[str] = "observe"
    reply: ClassVar[type[Reply]] = Observed
    names: tuple[str, ...]
    runs: int
    warmup_runs: int = 0


@dataclasses.dataclass(frozen=True)
class MeasureDevice(Request[DeviceModes]):
    """The table of modes of a statement on an accelerator: of `stmt`, or of `symbol` in the file `library`.

    `package` is photometer's own __init__.py, `options` are the fields of a DeviceOptions; without a `device` it is
    the one that torch takes.
    """

    verb: ClassVar[str] = "measure-device"
    reply: ClassVar[type[Reply]] = DeviceModes
    package: str
    stmt: str
    setup: str
    options: dict[str, Any]
    device: str = ""
    num_threads: int = 1
    library: str = ""
    symbol: str = ""
    compile_cache: str = ""
    visible_devices: tuple[int, ...] = ()
    seed: int | None = None
