"""Suite: a name and its benchmarks by label. It is what loading gives and what the plan takes.

Its fingerprint is made from the content alone: the same in every process, and for every order of the labels.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from photometer.definition.grouped import GroupedBenchmark, Label
from photometer.definition.labels import Benchmark, flatten
from photometer.definition.timer_args import TimerArgs

# 64 bits: with a million benchmarks the chance of a collision is below one in ten million.
FINGERPRINT_DIGITS = 16
# They say how a benchmark is chosen and where it stands in a file, not what is measured.
_NOT_CONTENT = ("tags", "timeout_seconds", "defined_at")


@dataclasses.dataclass(frozen=True)
class SuiteEntry:
    """One benchmark and its full label."""

    label: Label
    benchmark: Benchmark


@dataclasses.dataclass(frozen=True)
class Suite:
    """A named, flat list of benchmarks. `source` says where it was read from."""

    name: str
    entries: tuple[SuiteEntry, ...]
    source: str = dataclasses.field(default="", compare=False)

    @classmethod
    def from_benchmarks(cls, benchmarks: Mapping[Any, Any], name: str = "suite", source: str = "") -> Suite:
        """From the (nested) dict that an author writes."""
        flat = flatten(benchmarks)
        return cls(name, tuple(SuiteEntry(label, benchmark) for label, benchmark in flat.items()), source)

    @property
    def fingerprint(self) -> str:
        """A hash of what is measured, without names of files, tags and places."""
        records = sorted([list(entry.label), _content(entry.benchmark)] for entry in self.entries)
        return content_hash(records)


def content_hash(value: object) -> str:
    """The first digits of the SHA-256 of a JSON value in its canonical form."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:FINGERPRINT_DIGITS]


def _content(benchmark: Benchmark) -> str:
    """The benchmark's content as text (text, so that entries sort)."""
    if isinstance(benchmark, TimerArgs):
        return json.dumps({"kind": "TimerArgs", **benchmark.to_json()}, sort_keys=True)
    record: dict[str, object] = {"kind": "GroupedBenchmark"}
    for field in dataclasses.fields(GroupedBenchmark):
        if field.name not in _NOT_CONTENT:
            record[field.name] = getattr(benchmark, field.name)
    record["setup"] = dataclasses.asdict(benchmark.setup)
    record["signature"] = [benchmark.signature_args, benchmark.signature_output]
    return json.dumps(record, sort_keys=True)
