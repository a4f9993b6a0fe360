"""Results files that are nearly right: records as photometer writes them, with a few values made hostile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from photometer.analysis.comparison_result import ComparisonFailure
from photometer.instruments.ladder import LadderStep
from photometer.model.records import to_record
from tests.model.test_device_measurement import measurement
from tests.report.page.fake_results import (
    MACHINE,
    comparison_records,
    fuzz_records,
    ladder_records,
    run_records,
)

SMALL = (0, -0.0, 5e-324, 2.2e-308, 1e-300, 1e-30, 1e-9, 0.5, 1, 2, -1)
LARGE = (
    1e15,
    1e29,
    1e30,
    1e31,
    1e154,
    1e200,
    1e308,
    -1e308,
    2**31,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
    10**400,
    -(10**400),
)
NUMBERS = st.sampled_from([*SMALL, *LARGE, float("nan"), float("inf"), -float("inf")])
ACTING = (
    "\x1b[31mred",
    "\x00",
    "\x9b2J",
    "\ud800",
    "\udfff\ud800",
    "\u202ereversed",
    "a\nb\r\nc\td",
    "\u2028",
    "\ufeff",
)
MARKUP = (
    "<script>alert(1)</script>",
    "</script>",
    "|*_`$@x",
    "=1+1",
    "%s{0}{x}",
    "\\",
    "'\"",
    "[red]x[/red]",
    "--help",
)
LONG = ("", "é" * 300, "🙂" * 40, "x" * 5000, "nan", "../../etc/passwd")
TEXTS = st.one_of(st.sampled_from([*ACTING, *MARKUP, *LONG]), st.text(max_size=20))
ANYTHING = st.one_of(
    NUMBERS,
    TEXTS,
    st.none(),
    st.booleans(),
    st.just([]),
    st.just({}),
    st.lists(NUMBERS, max_size=3),
    st.dictionaries(TEXTS, NUMBERS, max_size=2),
)


def example_records() -> list[dict[str, Any]]:
    """One or two records of every kind that there is."""
    run = run_records(with_stacks=True)
    failure = next(record for record in run if record["kind"] == "failure")
    compared = comparison_records()
    stacks = next(record for record in compared if record["kind"] == "comparison_stacks")
    judged = [r for r in compared if r["kind"] == "comparison" and r["order_id"] == stacks["order_id"]]
    replicates = [r for r in compared if r["kind"] == "comparison_replicate" and r["order_id"] == stacks["order_id"]]
    failed = to_record(ComparisonFailure(judged[0]["order_id"], "title", "base", "it died", "log"))
    steps = [LadderStep("torch.add", "Tensor", None, 1e-6), LadderStep("torch.add", "Sub", "Tensor", 2e-6, 1e-6)]
    examples = [*run[:4], failure, stacks, *judged, compared[-1], *replicates[:2], failed]
    examples += [*fuzz_records()[-3:], *ladder_records()[:2], to_record(measurement()), *map(to_record, steps)]
    return [shorter(record) for record in examples]


def shorter(value: Any) -> Any:
    """Return the value with its lists cut: 180 samples make no other mistakes than 12."""
    if isinstance(value, dict):
        return {key: shorter(each) for key, each in value.items()}
    return [shorter(each) for each in value[:12]] if isinstance(value, list) else value


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value, leaves and branches alike."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


EXAMPLE = {
    "format": "photometer-results",
    "version": 1,
    "machine": to_record(MACHINE),
    "run": {"suite": "standard", "started": "now"},
    "comparison": {"base": "current", "branch": "git:HEAD", "suite": "standard", "fingerprint": "0"},
    "fuzz": {"statements": ["x + 1", "x * 2"], "seed": 3, "count": 120},
    "records": example_records(),
}
PLACES = [place for place in places(EXAMPLE) if place not in (("format",), ("version",), ("records",))]
# All samples of one measurement at once, as a broken clock writes them.
SAMPLES = [("records", i, "raw_times") for i, record in enumerate(example_records()) if record["kind"] == "measurement"]


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A whole file in which a few values are of the same type but extreme, or anything at all, or missing."""
    document: dict[str, Any] = json.loads(json.dumps(EXAMPLE))
    for place in draw(st.lists(st.sampled_from(PLACES), max_size=3)):
        replace(document, place, draw)
    for place in draw(st.lists(st.sampled_from(SAMPLES), max_size=2)):
        number, length = draw(NUMBERS), draw(st.integers(1, 30))
        holder = at(document, place[:-1])
        if isinstance(holder, dict):
            holder["raw_times"] = [number] * length
    return document


def at(value: Any, place: tuple[Any, ...]) -> Any:
    """Return what is there; None if an earlier replacement took it away."""
    for key in place:
        if not (isinstance(value, dict) and key in value) and not (
            isinstance(value, list) and key in range(len(value))
        ):
            return None
        value = value[key]
    return value


def replace(document: dict[str, Any], place: tuple[Any, ...], draw: st.DrawFn) -> None:
    holder, key = at(document, place[:-1]), place[-1]
    before = at(document, place)
    if before is None or not isinstance(holder, dict | list):
        return
    alike = NUMBERS if isinstance(before, int | float) else TEXTS if isinstance(before, str) else ANYTHING
    how = draw(st.sampled_from(["alike", "alike", "alike", "anything", "missing"]))
    if how == "missing":
        del holder[key]
    else:
        holder[key] = draw(alike if how == "alike" else ANYTHING)
