"""The page's view of a comparison: one ComparisonView per benchmark, of the branch against the base.

In: the records of one results file. Out: ComparisonViews, the slower ones first, with the samples and counts they were
judged by; and Unmeasured for benchmarks without a verdict. Benchmarks that changed may have call stacks.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from photometer.analysis.cause import own_sentences, place_words
from photometer.analysis.comparison_result import ComparisonFailure, ComparisonRemarks, ComparisonResult, ComparisonSkip
from photometer.analysis.failing_line import with_failing_line
from photometer.analysis.verdict import VERDICT_WORDS, VerdictWord
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.packed_stacks import ComparisonStacks
from photometer.model.records import from_record
from photometer.model.units import change, format_count, format_seconds
from photometer.report.page.record_identity import LANGUAGES, USUAL_WORDS, CodeView, Named, identity_of
from photometer.report.page.view_run import FunctionRow, Stack, Unmeasured, sentence_case, thinned

KINDS = (
    ComparisonResult.KIND,
    ComparisonFailure.KIND,
    ComparisonSkip.KIND,
    ComparisonReplicate.KIND,
    ComparisonStacks.KIND,
    ComparisonRemarks.KIND,
)

Samples = tuple[list[float], list[float]]


@dataclasses.dataclass(frozen=True)
class LayoutBand:
    """How far the memory layout alone moves a time: the lowest and the highest, as ratios to the base."""

    low: float
    high: float
    layouts: int


@dataclasses.dataclass(frozen=True)
class SideView:
    """One side: its samples (seconds per run) and, if they were recorded, its call stacks."""

    samples: tuple[float, ...] = ()
    stacks: tuple[Stack, ...] = ()


@dataclasses.dataclass(frozen=True)
class ComparisonView(Named):
    """`ratio` 1.01 is one per cent slower. An end of `interval` is 0 or infinite if too little is known."""

    verdict: VerdictWord
    ratio: float
    interval: tuple[float, float]
    difference_seconds: float
    base_seconds: float
    sentence: str
    code: CodeView
    # As it is shown: with the bound of "same".
    shown_verdict: str = ""
    has_change: bool = True
    base: SideView = dataclasses.field(default_factory=SideView)
    branch: SideView = dataclasses.field(default_factory=SideView)
    # The stacks of each side are of this many runs.
    stack_runs: int = 1
    replicates: int = 0
    margin: float = 0.0
    detectable: float | None = None
    instruction_ratio: float | None = None
    functions: tuple[FunctionRow, ...] = ()
    layout_band: LayoutBand | None = None
    cause: str = ""
    notes: tuple[str, ...] = ()
    # Functions of the user's below which instructions came or went, and by how many.
    own_code: tuple[FunctionRow, ...] = ()
    # Whether it allocates more or less, and in words how much.
    memory_word: str = ""
    memory: str = ""

    @property
    def brief(self) -> str:
        """Return what changed, and where in the user's code, in as few words as possible."""
        said = [change(self.ratio)] if self.has_change else []
        if self.has_change:
            base, branch = self.base_seconds, self.base_seconds + self.difference_seconds
            said[0] += f" ({format_seconds(base, 3)} to {format_seconds(branch, 3)})"
        own = [f"{place} ({format_count(round(gained), signed=True)} instructions)" for gained, place in self.own_code]
        return "; ".join([*said, *(own or [self.cause.rstrip(".")]), self.memory]).rstrip("; ")

    @property
    def telling_words(self) -> tuple[str, ...]:
        """Return the words of its variant that most benchmarks do not have."""
        return tuple(word for word in self.words if word not in (*USUAL_WORDS, *LANGUAGES))

    @property
    def rank(self) -> tuple[int, float]:
        """Sort by verdict, then by the size of the change, the largest first."""
        place = VERDICT_WORDS.index(self.verdict)
        return place, -abs(self.ratio - 1.0)


def comparison_views(
    records: Sequence[Mapping[str, Any]], source: str = "", most_samples: int = 1000
) -> tuple[ComparisonView, ...]:
    samples, stacks = _samples(records), _stacks(records)
    # A comparison that was resumed may have judged a benchmark twice: the later verdict counts.
    latest = {str(record.get("order_id")): record for record in records if record["kind"] == ComparisonResult.KIND}
    views = (
        _view(record, source, samples[order_id], stacks.get(order_id), most_samples)
        for order_id, record in latest.items()
    )
    return tuple(sorted(views, key=lambda view: view.rank))


def comparison_remarks(records: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the terminal's remarks on the whole comparison; of a resumed one, the last remarks."""
    said = [from_record(ComparisonRemarks, record) for record in records if record["kind"] == ComparisonRemarks.KIND]
    return tuple(sentence_case(warning) for warning in said[-1].warnings) if said else ()


def _own_notes(result: ComparisonResult) -> tuple[str, ...]:
    memory = "" if result.memory is None else result.memory.sentence
    notes = (f"accepted: {result.accepted}" if result.accepted else "", f"memory: {memory}" if memory else "")
    return (*(note for note in notes if note), *own_sentences(result.figures))


def without_verdict(records: Sequence[Mapping[str, Any]], kind: str) -> tuple[Unmeasured, ...]:
    """Return the benchmarks that failed or were skipped, depending on the kind of record."""
    found = []
    for record in records:
        if record["kind"] == kind:
            side = f"on the {record['side']} side: " if record.get("side") else ""
            title, message = str(record.get("title", "a benchmark")), str(record.get("message", ""))
            log = str(record.get("log") or "")
            found.append(Unmeasured(title, side + with_failing_line(message, log), log))
    return tuple(found)


def _samples(records: Sequence[Mapping[str, Any]]) -> defaultdict[str, Samples]:
    """Return seconds per run of every block in the frozen layout, in the order measured."""
    samples: defaultdict[str, Samples] = defaultdict(lambda: ([], []))
    for record in records:
        if record["kind"] == ComparisonReplicate.KIND:
            replicate = from_record(ComparisonReplicate, record).of_side(1)
            if replicate is not None and replicate.layout == 0:
                for kept, seconds in zip(samples[replicate.order_id], replicate.seconds_per_run.values(), strict=True):
                    kept.extend(seconds)
    return samples


def _stacks(records: Sequence[Mapping[str, Any]]) -> dict[str, ComparisonStacks]:
    found = (from_record(ComparisonStacks, record) for record in records if record["kind"] == ComparisonStacks.KIND)
    return {stacks.order_id: stacks for stacks in found}


def _view(
    record: Mapping[str, Any], source: str, samples: Samples, stacks: ComparisonStacks | None, most_samples: int
) -> ComparisonView:
    result = from_record(ComparisonResult, record)
    identity, verdict, change_of_counts = identity_of(record, source), result.judged, result.instructions
    ratios = result.layout_ratios
    return ComparisonView(
        id=identity.id,
        path=identity.path,
        words=identity.words,
        verdict=verdict.verdict,
        shown_verdict=verdict.words,
        has_change=verdict.has_change,
        ratio=verdict.ratio,
        interval=verdict.interval,
        difference_seconds=verdict.difference_seconds,
        base_seconds=verdict.base_seconds,
        sentence=sentence_case(verdict.reason),
        code=identity.code,
        base=SideView(
            thinned(samples[0], most_samples),
            () if stacks is None else stacks.base_stacks,
        ),
        branch=SideView(
            thinned(samples[1], most_samples),
            () if stacks is None else stacks.branch_stacks,
        ),
        stack_runs=1 if stacks is None else stacks.number_per_run,
        replicates=verdict.replicates,
        margin=verdict.margin,
        detectable=verdict.detectable_now,
        instruction_ratio=None if change_of_counts is None else change_of_counts.ratio,
        functions=()
        if change_of_counts is None
        else tuple((each.instructions_per_run, each.function) for each in change_of_counts.functions),
        layout_band=LayoutBand(min(ratios), max(ratios), len(ratios)) if ratios else None,
        cause=sentence_case(result.cause),
        notes=tuple(map(sentence_case, (*_own_notes(result), *verdict.notes, *result.warnings))),
        own_code=()
        if change_of_counts is None
        else tuple((code.instructions_per_run, place_words(code)) for code in change_of_counts.code),
        memory_word="" if result.memory is None else result.memory.verdict,
        memory=result.memory.sentence if result.memory is not None and result.memory.has_changed else "",
    )
