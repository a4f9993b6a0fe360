"""Records of a comparison to views: the verdict on each benchmark, with the samples and counts it was judged by.

In come the records of one results file; out come ComparisonViews, the slower ones first, and SkipViews for those that
have no verdict. Call stacks are there for those that changed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.analysis.comparison_result import FAILURE_KIND, KIND, ComparisonResult
from photometer.model import comparison_replicate, comparison_stacks
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.comparison_stacks import ComparisonStacks
from photometer.report.page.record_identity import identity_of
from photometer.report.page.records_of_run import thinned
from photometer.report.page.view_benchmark import SkipView
from photometer.report.page.view_comparison import ComparisonView, LayoutBand, SideView

KINDS = (KIND, FAILURE_KIND, comparison_replicate.KIND, comparison_stacks.KIND)
Samples = tuple[list[float], list[float]]


def comparison_views(
    records: Sequence[Mapping[str, Any]], source: str = "", most_samples: int = 1000
) -> tuple[ComparisonView, ...]:
    samples, stacks = _samples(records), _stacks(records)
    # A comparison that was resumed may have judged a benchmark twice: the later verdict counts.
    latest = {str(record.get("order_id")): record for record in records if record["kind"] == KIND}
    views = (
        _view(record, source, samples[order_id], stacks.get(order_id), most_samples)
        for order_id, record in latest.items()
    )
    return tuple(sorted(views, key=lambda view: view.rank))


def comparison_skips(records: Sequence[Mapping[str, Any]]) -> tuple[SkipView, ...]:
    skips = []
    for record in records:
        if record["kind"] == FAILURE_KIND:
            side = f"on the {record['side']} side: " if record.get("side") else ""
            title, message = str(record.get("title", "a benchmark")), str(record.get("message", ""))
            skips.append(SkipView(title, side + message, str(record.get("log") or "")))
    return tuple(skips)


def _samples(records: Sequence[Mapping[str, Any]]) -> defaultdict[str, Samples]:
    """Seconds per run of every block in the frozen layout, in the order measured."""
    samples: defaultdict[str, Samples] = defaultdict(lambda: ([], []))
    for record in records:
        if record["kind"] == comparison_replicate.KIND:
            replicate = ComparisonReplicate.from_json(record)
            if replicate.layout == 0:
                samples[replicate.order_id][0].extend(replicate.base_seconds_per_run)
                samples[replicate.order_id][1].extend(replicate.branch_seconds_per_run)
    return samples


def _stacks(records: Sequence[Mapping[str, Any]]) -> dict[str, ComparisonStacks]:
    found = (ComparisonStacks.from_json(record) for record in records if record["kind"] == comparison_stacks.KIND)
    return {stacks.order_id: stacks for stacks in found}


def _view(
    record: Mapping[str, Any], source: str, samples: Samples, stacks: ComparisonStacks | None, most_samples: int
) -> ComparisonView:
    result = ComparisonResult.from_json(record)
    identity, verdict, change = identity_of(record, source), result.judged, result.instructions
    detectable = verdict.detectable.now if verdict.detectable is not None else math.inf
    ratios = result.layout_ratios
    return ComparisonView(
        id=identity.id,
        path=identity.path,
        words=identity.words,
        verdict=verdict.verdict,
        ratio=verdict.ratio,
        interval=verdict.interval,
        difference_seconds=verdict.difference_seconds,
        base_seconds=verdict.base_seconds,
        sentence=sentence_case(verdict.reason),
        code=identity.code,
        base=SideView(
            thinned(samples[0], most_samples),
            None if change is None else change.base_per_run,
            () if stacks is None else stacks.base_stacks,
        ),
        branch=SideView(
            thinned(samples[1], most_samples),
            None if change is None else change.branch_per_run,
            () if stacks is None else stacks.branch_stacks,
        ),
        stack_runs=1 if stacks is None else stacks.number_per_run,
        replicates=verdict.replicates,
        margin=verdict.margin,
        detectable=detectable if math.isfinite(detectable) else None,
        instruction_ratio=None if change is None else change.ratio,
        functions=()
        if change is None
        else tuple((each.instructions_per_run, each.function) for each in change.functions),
        layout_band=LayoutBand(min(ratios), max(ratios), len(ratios)) if ratios else None,
        cause=sentence_case(result.cause),
        notes=tuple(sentence_case(note) for note in (*verdict.notes, *result.warnings)),
        paired=verdict.paired,
    )


def sentence_case(text: str) -> str:
    """Reasons begin small, because they also stand behind a name and a colon."""
    return text[:1].upper() + text[1:]
