"""Suite: a name and its benchmarks by label. `loading` makes it and the plan takes it.

An author writes a nested dict; `flatten` turns it into benchmarks by the tuple of the labels above them. Keys are a
text, a tuple of texts, or None (no label of its own); values are benchmarks or further dicts. The suite's fingerprint
is made from the content alone: it is the same in every process, and for every order of the labels.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from photometer.definition.grouped import GroupedBenchmark, Label
from photometer.definition.place import definition_error
from photometer.definition.timer_args import TimerArgs
from photometer.model.records import to_record

Benchmark = TimerArgs | GroupedBenchmark

# 64 bits: with a million benchmarks the chance of a collision is below one in ten million.
FINGERPRINT_DIGITS = 16
# One encoder for all: json.dumps makes a new one per call.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)
# These fields say how a benchmark is selected and where it is defined, not what is measured.
_NOT_CONTENT = ("tags", "timeout_seconds", "defined_at")


@dataclasses.dataclass(frozen=True)
class SuiteEntry:
    """One benchmark and its full label."""

    label: Label
    benchmark: Benchmark


@dataclasses.dataclass(frozen=True)
class Suite:
    """A named, flat list of benchmarks. `source` is where it was loaded from."""

    name: str
    entries: tuple[SuiteEntry, ...]
    source: str = dataclasses.field(default="", compare=False)

    @classmethod
    def from_benchmarks(cls, benchmarks: Mapping[Any, Any], name: str = "suite", source: str = "") -> Suite:
        """Make a suite from the (nested) dict that an author writes."""
        flat = flatten(benchmarks)
        return cls(name, tuple(SuiteEntry(label, benchmark) for label, benchmark in flat.items()), source)

    @property
    def fingerprint(self) -> str:
        """A hash of what is measured: file names, tags and places in files are not in it."""
        records = sorted([list(entry.label), _content(entry.benchmark)] for entry in self.entries)
        return content_hash(records)


def flatten(tree: Mapping[Any, Any]) -> dict[Label, Benchmark]:
    """Return every benchmark by its full label, in the order of the tree."""
    flat: dict[Label, Benchmark] = {}
    for label, benchmark in _leaves((), tree):
        if label in flat:
            places = [item.defined_at for item in (flat[label], benchmark) if isinstance(item, GroupedBenchmark)]
            raise definition_error(
                f"the label {_shown(label)} appears twice",
                shown=f"  defined at {' and at '.join(places)}" if places else None,
                remedy="Give each benchmark a label of its own.",
            )
        flat[label] = benchmark
    return flat


def _leaves(prefix: Label, tree: Mapping[Any, Any]) -> Iterator[tuple[Label, Benchmark]]:
    for key, value in tree.items():
        label = prefix + _label_of(key, prefix)
        if isinstance(value, (TimerArgs, GroupedBenchmark)):
            if not label:
                raise definition_error("a benchmark without a label", remedy="Put it below a label: {'name': …}.")
            yield label, value
        elif isinstance(value, Mapping):
            yield from _leaves(label, value)
        else:
            raise definition_error(
                f"{_shown(label)} is {value!r}, not a benchmark",
                remedy="Values are TimerArgs, GroupedStmts(…), GroupedModules(…), or dicts of them.",
            )


def _label_of(key: object, prefix: Label) -> Label:
    parts = () if key is None else key if isinstance(key, tuple) else (key,)
    for part in parts:
        if not isinstance(part, str) or not part.strip():
            raise definition_error(
                f"below {_shown(prefix)} there is the label {key!r}",
                remedy="A label is a text, a tuple of texts, or None.",
            )
    return tuple(parts)


def _shown(label: Label) -> str:
    return " › ".join(label) if label else "the top"


def content_hash(value: object) -> str:
    """Return the first digits of the SHA-256 of a JSON value in canonical form."""
    return hashlib.sha256(_CANONICAL.encode(value).encode("ascii")).hexdigest()[:FINGERPRINT_DIGITS]


def _content(benchmark: Benchmark) -> str:
    """Return the benchmark's content as text (text, so that entries can be sorted)."""
    if isinstance(benchmark, TimerArgs):
        return json.dumps({"kind": "TimerArgs", **to_record(benchmark)}, sort_keys=True)
    record: dict[str, object] = {"kind": "GroupedBenchmark"}
    for field in dataclasses.fields(GroupedBenchmark):
        if field.name not in _NOT_CONTENT:
            record[field.name] = getattr(benchmark, field.name)
    record["setup"] = dataclasses.asdict(benchmark.setup)
    record["signature"] = [benchmark.signature_args, benchmark.signature_output]
    return json.dumps(record, sort_keys=True)
