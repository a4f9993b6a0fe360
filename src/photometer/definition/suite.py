"""Suite: a name and its benchmarks by label. `loading` makes it and the plan takes it.

An author writes a nested dict; `flatten` turns it into benchmarks by the tuple of the labels above them. Keys are a
text, a tuple of texts, or None (no label of its own); values are benchmarks or further dicts. The suite's fingerprint
is made from the content alone: it is the same in every process, and for every order of the labels.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

from photometer.definition.grouped import GroupedBenchmark, Label
from photometer.definition.place import caller_place, definition_error
from photometer.definition.timer_args import TimerArgs
from photometer.model.order_name import label_text
from photometer.model.records import to_record

Benchmark = TimerArgs | GroupedBenchmark

# 64 bits: with a million benchmarks the chance of a collision is below one in ten million.
FINGERPRINT_DIGITS = 16
# One encoder for all: json.dumps makes a new one per call.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)
# Nobody reads a longer label, and Python's own stack ends at a thousand.
MOST_LEVELS = 100
MOST_LABELS_SHOWN = 10
# These fields say what else is asked of a benchmark, how it is selected and where it is defined.
_NOT_CONTENT = ("figures", "tags", "timeout_seconds", "margin", "fail_on", "defined_at")


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
    # Modules that set-ups import deeper than at their top level: imported once, before the forks.
    preload: tuple[str, ...] = ()
    # Of a suite of another tool: folders that must be first on the path of every process, and what was left out of it.
    folders: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    notes: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    @classmethod
    def from_benchmarks(
        cls,
        benchmarks: Mapping[Any, Any],
        name: str = "suite",
        source: str = "",
        place: str | None = None,
        preload: object = (),
    ) -> Suite:
        """Make a suite from the (nested) dict that an author writes; `place` is the file and line it is from."""
        flat = flatten(benchmarks, place)
        entries = tuple(SuiteEntry(label, benchmark) for label, benchmark in flat.items())
        return cls(name, entries, source, _modules(preload, place))

    @property
    def fingerprint(self) -> str:
        """Return a hash of the measured code: file names, tags and places in files are not in it."""
        records = sorted([list(entry.label), _content(entry.benchmark)] for entry in self.entries)
        return content_hash(records)


def _modules(preload: object, place: str | None) -> tuple[str, ...]:
    """Return the names of modules in an author's PRELOAD."""
    names = tuple(preload) if isinstance(preload, list | tuple) else (preload,)
    for name in names:
        if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
            raise definition_error(
                f"PRELOAD has {reprlib.repr(name)}, which is not the name of a module",
                remedy='Write it as a list of names: PRELOAD = ["package.module"].',
                place=place,
            )
    return names


def flatten(tree: Mapping[Any, Any], place: str | None = None) -> dict[Label, Benchmark]:
    """Return every benchmark by its full label, in the order of the tree. Errors name `place`, or else the caller's."""
    flat: dict[Label, Benchmark] = {}
    for label, benchmark in _leaves((), (tree,), place or caller_place()):
        if label in flat:
            places = [item.defined_at for item in (flat[label], benchmark) if isinstance(item, GroupedBenchmark)]
            raise definition_error(
                f"the label {_shown(label)} appears twice",
                shown=f"  defined at {' and at '.join(places)}" if places else None,
                remedy="Give each benchmark a label of its own.",
                place=place,
            )
        flat[label] = benchmark
    return flat


def _leaves(prefix: Label, above: tuple[Mapping[Any, Any], ...], place: str) -> Iterator[tuple[Label, Benchmark]]:
    """Yield the benchmarks below the last of the dicts `above`; each of these dicts is in the one before it."""
    for key, value in above[-1].items():
        label = prefix + _label_of(key, prefix, place)
        if isinstance(value, (TimerArgs, GroupedBenchmark)):
            if not label:
                raise definition_error(
                    "a benchmark without a label", remedy="Put it below a label: {'name': …}.", place=place
                )
            yield label, value
        elif isinstance(value, Mapping):
            _check_depth(label, value, above, place)
            yield from _leaves(label, (*above, value), place)
        else:
            raise definition_error(
                f"{_shown(label)} is {reprlib.repr(value)}, not a benchmark",
                remedy="Values are TimerArgs, GroupedStmts(…), GroupedModules(…), or dicts of them.",
                place=place,
            )


def _check_depth(label: Label, value: Mapping[Any, Any], above: tuple[Mapping[Any, Any], ...], place: str) -> None:
    if any(value is each for each in above):
        raise definition_error(
            f"the dict at {_shown(label)} contains itself", remedy="Put a copy of what is meant there.", place=place
        )
    if len(above) >= MOST_LEVELS or len(label) >= MOST_LEVELS:
        raise definition_error(
            f"the dicts at {_shown(label)} are nested more than {MOST_LEVELS} deep",
            remedy="Use fewer levels of labels.",
            place=place,
        )


def _label_of(key: object, prefix: Label, place: str) -> Label:
    parts = () if key is None else key if isinstance(key, tuple) else (key,)
    for part in parts:
        if not isinstance(part, str) or not part.strip():
            raise definition_error(
                f"below {_shown(prefix)} there is the label {reprlib.repr(key)}",
                remedy="A label is a text, a tuple of texts, or None.",
                place=place,
            )
    return tuple(parts)


def _shown(label: Label) -> str:
    few = label if len(label) <= MOST_LABELS_SHOWN else (*label[:MOST_LABELS_SHOWN], "…")
    return label_text(few) if label else "the top"


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
    # True and False as before there were modes, so that results of those versions can be continued.
    words = [variant.word for variant in benchmark.compiled]
    record["compiled"] = words if any(words) else bool(words)
    record["setup"] = dataclasses.asdict(benchmark.setup)
    record["signature"] = [benchmark.signature_args, benchmark.signature_output]
    return json.dumps(record, sort_keys=True)
