"""Results as rows of plain values: as `to_dataframe()` shows each kind, and a row per variant of a suite.

In: any result, or the records of a run. Out: one dict per figure or variant, which first says what it describes. Times
are in seconds, counts per run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult, ComparisonSkip
from photometer.analysis.declared_figures import by_order, values_of
from photometer.analysis.order_facts import OrderFacts, collect_facts, facts_of_order
from photometer.analysis.ranking import Ranking
from photometer.analysis.rates import Rate, peaks_in, rates_of
from photometer.analysis.verdict import Verdict
from photometer.instruments.ladder import LadderStep
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.fuzz_trial import FuzzTrial
from photometer.model.instruction_counts import CallgrindStats, InstructionCounts
from photometer.model.measurement import PERCENTILES, Measurement
from photometer.model.order_name import label_text, order_id_of
from photometer.model.records import from_record, to_record
from photometer.model.results_format import SKIPPED
from photometer.model.run_figures import ProcessorCounts
from photometer.model.task import TaskSpec
from photometer.model.torch_results import adopted

Row = dict[str, Any]
# The columns that stand first, whatever the kinds of the results.
FIRST_COLUMNS = ("kind", "label", "sub_label", "description", "env", "num_threads", "stmt")


def rows_of(result: object) -> list[Row]:
    """Return the rows of one result; the fields of its record for a kind without rows of its own."""
    result = adopted(result)
    for kind, make in _MAKERS.items():
        if isinstance(result, kind):
            return list(make(result))
    declared = values_of(result)
    if declared and isinstance(getattr(result, "task_spec", None), TaskSpec):
        figures = {each.figure.name: each.value for each in declared}
        return [{**_task(str(result.KIND), result.task_spec), **figures}]  # type: ignore[attr-defined]
    return [{name: value for name, value in to_record(result).items() if not isinstance(value, list | dict)}]


def verdict_row(verdict: Verdict) -> Row:
    """Return the figures of a verdict. An end of an interval that is not known yet is None."""
    low, high = (end if math.isfinite(end) else None for end in verdict.interval)
    return {
        "verdict": verdict.verdict,
        "within": verdict.bound,
        "ratio": verdict.ratio,
        "ratio_low": low,
        "ratio_high": high,
        "difference_seconds": verdict.difference_seconds,
        "base_seconds": verdict.base_seconds,
        "p": verdict.p,
        "replicates": verdict.replicates,
        "margin": verdict.margin,
        "measured_by": verdict.measured_by,
        "reason": verdict.reason,
    }


def _task(kind: str, spec: TaskSpec) -> Row:
    values = (kind, spec.label, spec.sub_label, spec.description, spec.env, spec.num_threads, spec.stmt)
    return dict(zip(FIRST_COLUMNS, values, strict=True))


def _measurement(m: Measurement) -> Iterator[Row]:
    head = _task(m.KIND, m.task_spec)
    if not m.raw_times:
        yield {**head, "samples": 0}
        return
    low, high = m.interval_seconds
    yield {
        **head,
        "seconds": m.seconds,
        "median_seconds": m.median,
        "low_seconds": low,
        "high_seconds": high,
        "mean_seconds": m.mean,
        "minimum_seconds": m.minimum,
        "iqr_seconds": m.iqr,
        **{f"p{percent}_seconds": m.percentile(percent) for percent in PERCENTILES},
        "percentiles_of": m.percentiles_are_of,
        "samples": len(m.raw_times),
        "number_per_run": m.number_per_run,
        "warnings": " ".join(suspicion.kind.value for suspicion in m.warnings),
    }


def _device(m: DeviceMeasurement) -> Iterator[Row]:
    for mode in m.modes:
        if mode.measured:
            low, high = mode.interval_seconds
            yield {
                **_task(m.KIND, m.task_spec),
                "device": m.device_name,
                "mode": mode.name.value,
                "median_seconds": mode.median,
                "low_seconds": low,
                "high_seconds": high,
                "samples": len(mode.seconds_per_run),
                "number_per_run": mode.runs_per_block,
                "bound": m.bound,
            }


def _counts(counts: InstructionCounts) -> Iterator[Row]:
    yield {
        **_task(counts.KIND, counts.task_spec),
        "instructions_per_run": counts.instructions_per_run,
        "outside_allocator_per_run": counts.outside_allocator_per_run,
        "allocator_calls_per_run": counts.allocator_calls_per_run,
        "samples": len(counts.repeats),
        "number_per_run": counts.number_per_run,
        "exact": counts.is_exact,
    }


def _callgrind(stats: CallgrindStats) -> Iterator[Row]:
    own = stats.counts() - stats.baseline_exclusive_stats.sum()
    yield {
        **_task(stats.KIND, stats.task_spec),
        "instructions_per_run": own / stats.number_per_run,
        "samples": 1,
        "number_per_run": stats.number_per_run,
    }


def _processor(counts: ProcessorCounts) -> Iterator[Row]:
    yield {
        **_task(counts.KIND, counts.task_spec),
        "instructions_per_run": counts.instructions_per_run,
        "samples": len(counts.instructions),
        "number_per_run": counts.number_per_run,
    }


def _verdict(verdict: Verdict) -> Iterator[Row]:
    yield {"kind": "verdict", **verdict_row(verdict)}


def _comparison(result: ComparisonResult) -> Iterator[Row]:
    change = result.instructions
    yield {
        "kind": result.KIND,
        "title": result.title,
        **verdict_row(result.judged),
        "instruction_ratio": None if change is None else change.ratio,
        "cause": result.cause,
    }


def _without_verdict(found: ComparisonFailure) -> Iterator[Row]:
    word = "skipped" if isinstance(found, ComparisonSkip) else "failed"
    yield {
        **({"side": found.side} if found.side else {}),
        "kind": found.KIND,
        "title": found.title,
        "verdict": word,
        "reason": found.message,
    }


def _ranking(ranking: Ranking) -> Iterator[Row]:
    for statement in ranking:
        yield {
            "kind": ranking.KIND,
            "stmt": statement.name,
            "rank": statement.rank,
            "seconds": statement.seconds,
            "reference": statement.name == ranking.reference,
            **({} if statement.verdict is None else verdict_row(statement.verdict)),
        }


def _ladder(step: LadderStep) -> Iterator[Row]:
    yield {
        "kind": step.KIND,
        "label": step.call,
        "sub_label": step.rung,
        "seconds": step.seconds,
        "below": step.below,
        "added_seconds": step.added_seconds,
        "instructions_per_run": step.instructions,
    }


def _trial(trial: FuzzTrial) -> Iterator[Row]:
    yield {
        "kind": trial.KIND,
        "stmt": trial.text,
        "index": trial.index,
        **trial.params,
        "elements": trial.elements,
        **{f"seconds_{i}": seconds for i, seconds in enumerate(trial.seconds_per_run, start=1)},
        "ratio": None if trial.log_ratio is None else math.exp(trial.log_ratio),
        "failure": None if trial.failure is None else trial.failure.message,
    }


_MAKERS: Mapping[type, Callable[[Any], Iterable[Row]]] = {
    Measurement: _measurement,
    DeviceMeasurement: _device,
    InstructionCounts: _counts,
    CallgrindStats: _callgrind,
    ProcessorCounts: _processor,
    Verdict: _verdict,
    ComparisonResult: _comparison,
    ComparisonFailure: _without_verdict,
    Ranking: _ranking,
    LadderStep: _ladder,
    FuzzTrial: _trial,
}


FIRST_VARIANT_COLUMNS = ("benchmark", "language", "runtime", "autograd", "num_threads", "device")


def variant_rows(records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the rows, all with the same columns: first sizes, then seconds, then all other figures.

    What failed or was skipped without a figure stands last, with its reason.
    """
    facts = collect_facts(records)
    rates = {rate.facts.id: rate for rate in rates_of(facts, peaks_in(records))}
    counts = _instructions(records)
    figures = by_order(records)
    found = [{**_row(each, rates.get(each.id), counts.get(each.id)), **figures.get(each.id, {})} for each in facts]
    known = {each.id for each in facts}
    without = {each.id: (each, words) for each, words in _without_figures(records) if each.id not in known}
    facts = [*facts, *(each for each, _ in without.values())]
    found += [{**_row(each, None, None), **words} for each, words in without.values()]
    sizes = list(dict.fromkeys(name for each in facts for name, _ in each.sizes))
    others = list(dict.fromkeys(name for row in found for name in row if name not in (*FIRST_VARIANT_COLUMNS, *sizes)))
    return [{name: row.get(name) for name in (*FIRST_VARIANT_COLUMNS, *sizes, *others)} for row in found]


def _without_figures(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[OrderFacts, Row]]:
    for record in records:
        order = record.get("order")
        if record["kind"] not in ("failure", SKIPPED) or not isinstance(order, Mapping):
            continue
        reason = record.get("reason") if record["kind"] == SKIPPED else record.get("message")
        words = {"outcome": "skipped" if record["kind"] == SKIPPED else "failed", "reason": reason}
        yield facts_of_order(order), words


def _instructions(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {
        order_id_of(record): from_record(InstructionCounts, record).outside_allocator_per_run
        for record in records
        if record["kind"] == InstructionCounts.KIND and isinstance(record.get("order"), Mapping)
    }


def _row(facts: OrderFacts, rate: Rate | None, instructions: float | None) -> Row:
    row: Row = {
        "benchmark": label_text(facts.label),
        "language": facts.language,
        "runtime": " ".join((facts.runtime, *facts.compile_words)),
        "autograd": facts.autograd,
        "num_threads": facts.num_threads,
        "device": facts.device,
    }
    row |= {name: str(value) if isinstance(value, tuple) else value for name, value in facts.sizes}
    row |= {"seconds": facts.seconds, "low_seconds": facts.low, "high_seconds": facts.high}
    row |= {} if instructions is None else {"instructions": instructions}
    if rate is not None:
        row |= {
            "flops": rate.work.flops,
            "bytes": rate.work.bytes,
            "flops_per_second": rate.flops_per_second,
            "bytes_per_second": rate.bytes_per_second,
            "share_of_peak": rate.share_of_peak,
            "bound": rate.bound,
        }
    if facts.phases is not None:
        row |= {f"{phase.name}_seconds": phase.median for phase in facts.phases.phases}
    if facts.metrics is not None:
        row |= {metric.name: metric.median for metric in facts.metrics.metrics}
    if facts.energy is not None:
        row["joules"] = facts.energy.joules_per_run
    return row
