"""compare: verdicts for a suite in two or more environments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.comparing.comparison import Comparison
from photometer.comparing.environment_source import EnvironmentSource
from photometer.comparing.request import (
    ComparisonRequest,
    ComparisonSettings,
    EnvironmentLike,
    SuiteLike,
)
from photometer.comparing.source import Observer
from photometer.comparing.unpaired import compare_unpaired
from photometer.errors import DefinitionError
from photometer.model.machine import Environment
from photometer.session.session import Session


def compare(
    sides: Sequence[EnvironmentLike],
    suite: SuiteLike | None = None,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    budget: float | None = None,
    limit: float | None = None,
    timeout: float | None = None,
    margin: float | None = None,
    fdr: float | None = None,
    instructions: bool | None = None,
    layouts: int | None = None,
    memory: bool | None = None,
    seed: int | None = None,
    settings: ComparisonSettings | None = None,
    install: str | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    store: str | None = None,
    observer: Observer | None = None,
) -> EnvironmentComparison:
    """Return whether each side is slower than the first, for each benchmark of a suite: what `photometer compare` does.

    Args:
        sides: two or more of what the command takes, or Environments. Two results files need no suite.
        suite: its name, as on the command line, a Suite, or a dict of benchmarks.
        expression: only labels that match, as `-k` does.
        tags: only benchmarks with one of these tags.
        budget: maximum seconds of measuring, for the whole suite; by default ten per timed benchmark, at least 20.
        limit: maximum seconds of wall-clock time, including making environments; by default none.
        timeout: seconds after which a benchmark that does not say so itself is given up; 120 by default.
        margin: relative change that does not matter; 0.003 (0.3 %) by default, 0.02 with several threads.
        fdr: share of false verdicts among all that say slower or faster; 0.05 by default.
        instructions: whether to count instructions, too; by default it does.
        layouts: fixed memory layouts in which what changed is tried; 1 by default.
        memory: whether to measure what one run allocates; by default it does.
        seed: seed of random data in all processes. By default each replicate has other data, the same on all sides.
        settings: all of these in one object; other arguments take precedence.
        install: a command that installs a git revision into a fresh environment.
        output: a folder for samples and verdicts; with `resume` an interrupted comparison there is continued.
        resume: continue the comparison in `output`.
        store: the history store, a path or a URL, that also gets every record.
        observer: is notified of each stage and verdict.

    """
    if isinstance(sides, str):
        raise DefinitionError(
            f"there is only one side: {sides}", remedy='Give several, such as ["current", "git:main"].'
        )
    given: dict[str, Any] = {
        "budget_seconds": budget,
        "limit_seconds": limit,
        "timeout_seconds": timeout,
        "margin": margin,
        "false_discovery_rate": fdr,
        "instructions": instructions,
        "layouts": layouts,
        "memory": memory,
        "seed": seed,
    }
    request = ComparisonRequest(
        tuple(sides),
        suite,
        dataclasses.replace(
            settings or ComparisonSettings(), **{name: value for name, value in given.items() if value is not None}
        ),
        expression,
        tags,
        install,
        None if output is None else Path(output),
        resume,
        store,
    )
    return compare_requested(request, observer)


def compare_requested(request: ComparisonRequest, observer: Observer | None = None) -> EnvironmentComparison:
    """Compare live, or compare the results in two files."""
    if not request.is_live:
        return compare_unpaired(request, observer or Observer())
    with live_comparison(request, observer) as comparison:
        return comparison.run()


@contextmanager
def live_comparison(
    request: ComparisonRequest,
    observer: Observer | None = None,
    *,
    make_session: Callable[[Environment], Session] = Session,
) -> Iterator[Comparison]:
    """Yield the requested comparison; its environments exist while the block runs."""
    source = EnvironmentSource(request, make_session=make_session)
    comparison = Comparison(source, request.settings, request.destination, observer, accepted=request.accepted)
    with comparison:
        yield comparison
