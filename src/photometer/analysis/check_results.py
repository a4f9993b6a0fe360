"""Do the variants of a benchmark (Python, C++, TorchScript, compiled) compute the same?

In: for each order its values (as the probes write them), or why it has none. Out: a CheckedBenchmark per group of
variants.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.model.order_name import title_text
from photometer.plan.probe import ProbeOutcome

# The same float32 operations in another order differ by about 1e-6 of the largest value; a real mistake by far more.
RELATIVE_TOLERANCE = 1e-4
ABSOLUTE_TOLERANCE = 1e-5


@dataclasses.dataclass(frozen=True)
class CheckedBenchmark:
    """The variants of one label that should compute the same; `problems` is empty if they do.

    `skipped` are the variants that say themselves that they do not apply here: title and reason.
    """

    title: str
    variants: int
    compared: tuple[str, ...]
    problems: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()


def check_results(outcomes: Sequence[ProbeOutcome]) -> list[CheckedBenchmark]:
    """Compare variants that differ only in language, runtime or number of threads."""
    groups: dict[object, list[ProbeOutcome]] = {}
    for outcome in outcomes:
        auto = outcome.order.auto
        groups.setdefault((outcome.order.label, auto.autograd, auto.device, auto.sizes), []).append(outcome)
    return [_check(group) for group in groups.values()]


def _check(group: Sequence[ProbeOutcome]) -> CheckedBenchmark:
    problems = [f"{outcome.order.short_title}: {outcome.error}" for outcome in group if outcome.error is not None]
    known = [outcome for outcome in group if outcome.values is not None]
    compared: dict[str, None] = {}
    if known:
        reference = known[0]
        for other in known[1:]:
            assert reference.values is not None
            assert other.values is not None
            names = [name for name in reference.values if name in other.values]
            compared.update(dict.fromkeys(names))
            for name in names:
                difference = describe_difference(reference.values[name], other.values[name])
                if difference is not None:
                    places = f"{reference.order.short_title} and {other.order.short_title}"
                    problems.append(f"{name} differs between {places}: {difference}")
    order = group[0].order
    words = [word for word in order.auto.unusual_words() if word == "backward" or "=" in word]
    title = title_text(order.label, words)
    skipped = [(outcome.order.short_title, outcome.skipped) for outcome in group if outcome.skipped is not None]
    return CheckedBenchmark(title, len(group), tuple(compared), tuple(problems), tuple(skipped))


def describe_difference(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the first difference between two results; None if they agree."""
    if len(one) != len(other):
        return f"{len(one)} values and {len(other)}"
    for left, right in zip(one, other, strict=True):
        if left["shape"] != right["shape"]:
            return f"the shapes are {left['shape']} and {right['shape']}"
        largest = max((abs(v) for v in left["values"] if math.isfinite(v)), default=0.0)
        tolerance = ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * largest
        for place, (a, b) in enumerate(zip(left["values"], right["values"], strict=True)):
            both_nan = math.isnan(a) and math.isnan(b)
            if not both_nan and a != b and not abs(a - b) <= tolerance:
                return f"element {place} is {a:g} and {b:g}"
    return None
