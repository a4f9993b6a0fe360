"""Compiled statements of one child, compared in pairs by device time, with photometer's own instruments.

`OpenPairs` opens them all, `TakeReplicate` takes one replicate of a pair; they stay open until the child ends.
See comparing/device_statements.py.
"""

from __future__ import annotations

import contextlib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .device_modes import load_package
from .messages import LoopRequest, Reply

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class PairsOpened(Reply):
    """The device's name, and where the times of each pair come from."""

    device_name: str
    sources: list[str]


@dataclass(frozen=True)
class ReplicateTaken(Reply):
    """The record of a DeviceReplicate."""

    replicate: dict[str, Any]


@dataclass(frozen=True)
class OpenPairs(LoopRequest[PairsOpened]):
    """Statements, each a library and a symbol in it. `package` is photometer's own __init__.py."""

    verb: ClassVar[str] = "open-pairs"
    reply: ClassVar[type[Reply]] = PairsOpened
    package: str
    statements: list[list[str]]
    settings: dict[str, Any]

    def perform(self, run_block: Callable[[int], float]) -> PairsOpened:
        load_package("photometer", self.package)
        comparing: Any = importlib.import_module("photometer.comparing.device_statements")
        settings = comparing.DeviceSettings(**self.settings)
        name, _pairs[:] = _open.enter_context(comparing.open_built_pairs(self.statements, settings))
        return PairsOpened(name, [pair.source.value for pair in _pairs])


@dataclass(frozen=True)
class TakeReplicate(LoopRequest[ReplicateTaken]):
    """Take one replicate of a pair, by its place."""

    verb: ClassVar[str] = "take-replicate"
    reply: ClassVar[type[Reply]] = ReplicateTaken
    pair: int

    def perform(self, run_block: Callable[[int], float]) -> ReplicateTaken:
        records: Any = importlib.import_module("photometer.model.records")
        return ReplicateTaken(records.to_record(_pairs[self.pair].replicate()))


# Of this child, until it ends.
_open = contextlib.ExitStack()
_pairs: list[Any] = []
