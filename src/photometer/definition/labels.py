"""Nested dicts of labels, made flat: what an author writes as a tree is known by the tuple of the labels on its way.

Keys are a text, a tuple of texts, or None (no label of its own); values are benchmarks or further dicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from photometer.definition.grouped import GroupedBenchmark, Label
from photometer.definition.place import definition_error
from photometer.definition.timer_args import TimerArgs

Benchmark = TimerArgs | GroupedBenchmark


def flatten(tree: Mapping[Any, Any]) -> dict[Label, Benchmark]:
    """Every benchmark by its full label, in the order of the tree."""
    flat: dict[Label, Benchmark] = {}
    for label, benchmark in _leaves((), tree):
        if label in flat:
            places = [item.defined_at for item in (flat[label], benchmark) if isinstance(item, GroupedBenchmark)]
            raise definition_error(
                f"the label {_shown(label)} is there twice",
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
