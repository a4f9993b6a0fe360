"""ab, ab_device: two statements compared live, side by side, on the host or on an accelerator.

    verdict = photometer.ab("x + y", "torch.add(x, y)", setup="x = y = torch.ones(8)")
    verdict.verdict, verdict.ratio, verdict.interval, verdict.difference_seconds

Both stop as soon as the verdict is certain, or the budget is spent, and return a Verdict.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from photometer.analysis.judge import Criteria
from photometer.analysis.verdict import Verdict
from photometer.comparing.fork_sampler import Contestants, ForkSampler
from photometer.comparing.verdict_loop import Sample, check_budget, verdict_of_one
from photometer.errors import BuildError, DefinitionError
from photometer.instruments.clock import Clock
from photometer.instruments.device.accelerator import Accelerator
from photometer.instruments.device.alternate import AlternatingPair, DeviceReplicate
from photometer.instruments.device.options import SourceChoice
from photometer.instruments.device.statement import Statement, open_statement
from photometer.instruments.replicate import REPLICATE_SECONDS, Side
from photometer.model.environment import Environment
from photometer.model.language import Language
from photometer.session.session import Session
from photometer.timing import bind_call, tidy
from photometer.worker.messages import Prepare

DEFAULT_BUDGET_SECONDS = 10.0
# An accelerator's clock is steadier than a host's: most verdicts stand after a second.
DEFAULT_DEVICE_BUDGET_SECONDS = 5.0

Stmt = str | Callable[[], Any]
Callback = Callable[[Verdict], Any]


def ab(
    stmt_a: str,
    stmt_b: str,
    setup: str = "pass",
    *,
    setup_b: str | None = None,
    global_setup: str = "",
    language: Language | str = Language.PYTHON,
    num_threads: int = 1,
    budget: float = DEFAULT_BUDGET_SECONDS,
    margin: float | None = None,
    environment: Environment | None = None,
    callback: Callback | None = None,
) -> Verdict:
    """Return whether `stmt_b` is slower or faster than `stmt_a`, or the same within the margin.

    `setup_b` is the second statement's own set-up, if it needs another. `budget` is the most seconds of measuring;
    `margin` the relative change that does not matter. `callback` is given the verdict so far after each replicate.
    """
    check_budget(budget)
    criteria = _criteria(margin)
    texts = [(stmt_a, setup), (stmt_b, setup if setup_b is None else setup_b)]
    prepare = _preparations(texts, global_setup, Language.parse(language), num_threads)
    with Session(environment) as session:
        sampler = ForkSampler(
            [Contestants(tuple(Side(session, each) for each in prepare))], seconds=min(REPLICATE_SECONDS, budget)
        )
        return verdict_of_one(sampler, criteria, budget=budget, callback=callback)


def ab_device(
    stmt_a: Stmt,
    stmt_b: Stmt,
    setup: str = "pass",
    *,
    setup_b: str | None = None,
    globals: Mapping[str, Any] | None = None,
    cold: bool = False,
    budget: float = DEFAULT_DEVICE_BUDGET_SECONDS,
    margin: float | None = None,
    source: SourceChoice = "auto",
    device: str | None = None,
    callback: Callback | None = None,
    seed: int | None = None,
) -> Verdict:
    """Return whether `stmt_b` takes more or less device time than `stmt_a`, or the same within the margin.

    `budget` is the most seconds of measuring; set-up, warm-up and (once per process) attaching the profiler come on
    top of that. One `setup` is run once for both, so that both read the same tensors: where a tensor lies in memory
    alone makes 0.2 % of difference. `setup_b` gives the second its own. `cold` flushes the device's cache before each
    run.
    """
    check_budget(budget)
    criteria = _criteria(margin)
    from photometer.instruments.device.torch_accelerator import open_accelerator

    accelerator = open_accelerator(device)
    with _both(stmt_a, stmt_b, setup, setup_b, dict(globals or {})) as (a, b):
        return compare_statements(
            a,
            b,
            accelerator,
            cold=cold,
            budget=budget,
            source=source,
            criteria=criteria,
            order=random.Random(seed),
            callback=callback,
        )


class DeviceSampler:
    """Replicates of two statements on one accelerator, in this process, and what was noticed on the way."""

    def __init__(self, pair: AlternatingPair, clock: Clock) -> None:
        self._pair = pair
        self._clock = clock
        self._replicates: list[DeviceReplicate] = []

    def sample(self, benchmark: int, turn: int) -> Sample:
        start = self._clock()
        replicate = self._pair.replicate()
        self._replicates.append(replicate)
        return Sample(benchmark, (replicate.estimate,), self._clock() - start)

    def notes(self) -> Iterator[str]:
        set_aside = sum(replicate.pairs_set_aside for replicate in self._replicates)
        if set_aside:
            yield f"{set_aside} pairs of blocks were set aside: the device was held back (power or heat)"
        throughout = sum(replicate.throttled_throughout for replicate in self._replicates)
        if throughout:
            count = len(self._replicates)
            yield f"in {throughout} of {count} replicates the device was held back (power or heat) throughout"


def compare_statements(
    a: Statement,
    b: Statement,
    accelerator: Accelerator,
    *,
    cold: bool,
    budget: float,
    source: SourceChoice,
    criteria: Criteria,
    order: random.Random,
    callback: Callback | None = None,
    clock: Clock = time.perf_counter,
) -> Verdict:
    """Compare on any accelerator: a fake one drives it in the tests."""
    try:
        pair = AlternatingPair(accelerator, a.run, b.run, cold=cold, source=source, order=order, clock=clock)
        sampler = DeviceSampler(pair, clock)
        verdict = verdict_of_one(sampler, criteria, budget=budget, callback=callback)
    finally:
        accelerator.queue.release()
        if accelerator.profiler is not None:
            accelerator.profiler.detach()
    cache = "cold" if cold else "hot"
    return dataclasses.replace(
        verdict,
        notes=(*verdict.notes, *sampler.notes()),
        measured_by=f"device time, {cache} cache, by {pair.source.value}, on {accelerator.name}",
    )


def _criteria(margin: float | None) -> Criteria:
    return Criteria() if margin is None else Criteria(margin=margin)


def _preparations(
    texts: list[tuple[str, str]], global_setup: str, language: Language, num_threads: int
) -> list[Prepare]:
    """Return what each side's child prepares; C++ is compiled first, both statements in one go."""
    if language is Language.PYTHON:
        if global_setup:
            raise DefinitionError("global_setup is for C++ only", remedy="Move it into `setup`.")
        return [Prepare(stmt, setup, num_threads=num_threads) for stmt, setup in texts]
    from photometer.instruments.cpp.build import build_snippets
    from photometer.instruments.cpp.snippet import CppSnippet

    snippets = [CppSnippet(stmt, "" if setup == "pass" else setup, global_setup) for stmt, setup in texts]
    prepare = []
    for outcome in build_snippets(snippets):
        if isinstance(outcome, BuildError):
            raise outcome
        prepare.append(Prepare(library=str(outcome.library), symbol=outcome.symbol, num_threads=num_threads))
    return prepare


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
