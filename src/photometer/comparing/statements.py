"""ab: two statements compared live, side by side. The interactive door to verdicts.

    verdict = photometer.ab("x + y", "torch.add(x, y)", setup="x = y = torch.ones(8)")
    verdict.verdict, verdict.ratio, verdict.interval, verdict.difference_seconds

Both run in forks of servers with frozen layouts; it stops as soon as the verdict is certain, or the budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from photometer.analysis.judge import Criteria, judge_replicates
from photometer.analysis.suite_judge import held_back
from photometer.analysis.verdict import Verdict
from photometer.errors import BuildError, DefinitionError
from photometer.execution.duet_run import REPLICATE_SECONDS, DuetRun
from photometer.model.environment import Environment
from photometer.model.language import Language
from photometer.session.fork_server import ForkServer
from photometer.stats.replicate import ReplicateEstimate, estimate_replicate

DEFAULT_BUDGET_SECONDS = 10.0


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
    callback: Callable[[Verdict], Any] | None = None,
) -> Verdict:
    """Whether `stmt_b` is slower or faster than `stmt_a`, or the same within the margin.

    `setup_b` is the second statement's own set-up where it needs another. `budget` is the most seconds of measuring;
    `margin` the relative change that is not worth a word. `callback` is given the verdict so far after each replicate.
    """
    if budget <= 0:
        raise DefinitionError(f"budget must be positive, not {budget!r}", remedy="Give it in seconds.")
    criteria = Criteria() if margin is None else Criteria(margin=margin)
    texts = [(stmt_a, setup), (stmt_b, setup if setup_b is None else setup_b)]
    prepare = _requests(texts, global_setup, Language.parse(language), num_threads)

    def start() -> ForkServer:
        return ForkServer(environment, small_pages=True)

    with DuetRun(start, start) as run:
        return _run_to_verdict(run, prepare, criteria, budget, callback)


def _run_to_verdict(
    run: DuetRun,
    prepare: list[dict[str, Any]],
    criteria: Criteria,
    budget: float,
    callback: Callable[[Verdict], Any] | None,
) -> Verdict:
    estimates: list[ReplicateEstimate] = []
    spent = 0.0
    while True:
        replicate = run.replicate(*prepare, seconds=min(REPLICATE_SECONDS, budget))
        spent += replicate.measuring_seconds
        estimates.append(estimate_replicate(replicate.base_seconds_per_run, replicate.branch_seconds_per_run))
        verdict = held_back(judge_replicates(estimates, criteria, forecast=False))
        if callback is not None:
            callback(verdict)
        if verdict.decided or spent >= budget:
            return held_back(judge_replicates(estimates, criteria))


def _requests(
    texts: list[tuple[str, str]], global_setup: str, language: Language, num_threads: int
) -> list[dict[str, Any]]:
    """What each side's child is to prepare; C++ is compiled first, both statements in one go."""
    if language is Language.PYTHON:
        if global_setup:
            raise DefinitionError("global_setup is for C++ only", remedy="Move it into `setup`.")
        return [{"stmt": stmt, "setup": setup, "num_threads": num_threads} for stmt, setup in texts]
    from photometer.instruments.cpp.build import build_snippets
    from photometer.instruments.cpp.snippet import CppSnippet

    snippets = [CppSnippet(stmt, "" if setup == "pass" else setup, global_setup) for stmt, setup in texts]
    requests = []
    for outcome in build_snippets(snippets):
        if isinstance(outcome, BuildError):
            raise outcome
        requests.append(
            {
                "language": "cpp",
                "library": str(outcome.library),
                "symbol": outcome.symbol,
                "num_threads": num_threads,
            }
        )
    return requests
