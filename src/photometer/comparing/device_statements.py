"""ab_device: two statements on one accelerator, judged side by side. The device's twin of a live A/B comparison.

Blocks of the two alternate; each group of blocks is a replicate; after every replicate the evidence is judged, and the
comparison ends with the first verdict that is certain, or when its time is up.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from photometer.analysis.judge import DEFAULT_CRITERIA, Criteria, judge_replicates
from photometer.analysis.verdict import Verdict
from photometer.errors import DefinitionError
from photometer.instruments.clock import Clock
from photometer.instruments.device.accelerator import Accelerator
from photometer.instruments.device.alternate import AlternatingPair, Replicate
from photometer.instruments.device.options import SourceChoice
from photometer.instruments.device.statement import Statement, open_statement
from photometer.model.device_mode import Source
from photometer.timing import bind_call, tidy

Stmt = str | Callable[[], Any]


@dataclass(frozen=True)
class DeviceComparison:
    """The second statement against the first. `notes` says what else was noticed."""

    verdict: Verdict
    device_name: str
    source: Source
    cold: bool
    seconds_spent: float
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        cache = "cold" if self.cold else "hot"
        lines = [
            f"{self.verdict.verdict}: {self.verdict.reason}",
            f"device time, {cache}, by {self.source.value}, on {self.device_name}; {self.seconds_spent:.1f} s",
        ]
        return "\n".join([*lines, *self.verdict.notes, *self.notes])


def ab_device(
    stmt_a: Stmt,
    stmt_b: Stmt,
    setup: str = "pass",
    *,
    setup_b: str | None = None,
    globals: Mapping[str, Any] | None = None,
    cold: bool = False,
    max_run_time: float = 5.0,
    source: SourceChoice = "auto",
    criteria: Criteria = DEFAULT_CRITERIA,
    device: str | None = None,
    seed: int = 0,
) -> DeviceComparison:
    """Compare the device time of `stmt_b` with that of `stmt_a`, for at most about `max_run_time` seconds.

    Set-up, warm-up and (once a process) attaching the profiler come on top of that.

    One `setup` is run once for both, so that both read the same tensors: where a tensor lies in memory alone makes
    0.2 % of difference. `setup_b` gives the second its own. `cold` flushes the device's cache before each run.
    """
    if not max_run_time > 0:
        raise DefinitionError(f"max_run_time must be positive, not {max_run_time!r}", remedy="Give seconds.")
    from photometer.instruments.device.torch_accelerator import open_accelerator

    accelerator = open_accelerator(device)
    with _both(stmt_a, stmt_b, setup, setup_b, dict(globals or {})) as (a, b):
        return compare_statements(
            a,
            b,
            accelerator,
            cold=cold,
            max_run_time=max_run_time,
            source=source,
            criteria=criteria,
            order=random.Random(seed),
        )


def compare_statements(
    a: Statement,
    b: Statement,
    accelerator: Accelerator,
    *,
    cold: bool,
    max_run_time: float,
    source: SourceChoice,
    criteria: Criteria,
    order: random.Random,
    clock: Clock = time.perf_counter,
) -> DeviceComparison:
    """The comparison itself, on any accelerator: a fake one drives it in the tests."""
    replicates: list[Replicate] = []
    try:
        pair = AlternatingPair(accelerator, a.run, b.run, cold=cold, source=source, order=order, clock=clock)
        start = clock()
        while True:
            replicates.append(pair.replicate())
            estimates = [replicate.estimate for replicate in replicates]
            verdict = judge_replicates(estimates, criteria, forecast=False)
            spent = clock() - start
            if verdict.decided or spent + spent / len(replicates) > max_run_time:
                break
    finally:
        accelerator.queue.release()
        if accelerator.profiler is not None:
            accelerator.profiler.detach()
    return DeviceComparison(
        verdict=judge_replicates(estimates, criteria),
        device_name=accelerator.name,
        source=pair.source,
        cold=cold,
        seconds_spent=spent,
        notes=tuple(_notes(replicates)),
    )


def _notes(replicates: list[Replicate]) -> Iterator[str]:
    set_aside = sum(replicate.pairs_set_aside for replicate in replicates)
    if set_aside:
        yield f"{set_aside} pairs of blocks were set aside: the device was held back (power or heat)"
    throughout = sum(replicate.throttled_throughout for replicate in replicates)
    if throughout:
        yield f"in {throughout} of {len(replicates)} replicates the device was held back (power or heat) throughout"


@contextlib.contextmanager
def _both(
    stmt_a: Stmt, stmt_b: Stmt, setup: str, setup_b: str | None, globals: dict[str, Any]
) -> Iterator[tuple[Statement, Statement]]:
    import torch

    namespace = {"torch": torch, **globals}
    text_a, names_a = _text(stmt_a)
    text_b, names_b = _text(stmt_b)
    if setup_b is None:
        exec(compile(tidy(setup), "<setup>", "exec"), namespace)
        setup_a = setup_b = "pass"
    else:
        setup_a, setup_b = tidy(setup), tidy(setup_b)
    with (
        open_statement(text_a, setup_a, {**namespace, **names_a}) as a,
        open_statement(text_b, setup_b, {**namespace, **names_b}) as b,
    ):
        yield a, b


def _text(stmt: Stmt) -> tuple[str, dict[str, Any]]:
    if isinstance(stmt, str):
        return tidy(stmt), {}
    if not callable(stmt):
        raise DefinitionError(f"a statement is text or a callable, not {type(stmt).__name__}")
    _, text, bound = bind_call(stmt, (), {})
    return text, bound
