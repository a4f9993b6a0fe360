"""compare_environments: verdicts for a suite in two or more environments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE
from photometer.comparing.comparison import Comparison
from photometer.comparing.environment_source import EnvironmentSource
from photometer.comparing.observer import Observer
from photometer.comparing.request import (
    DEFAULT_LAYOUTS,
    ComparisonRequest,
    ComparisonSettings,
    EnvironmentLike,
    SuiteLike,
)
from photometer.comparing.unpaired import compare_unpaired
from photometer.model.environment import Environment
from photometer.session.session import Session


def compare_environments(
    base: EnvironmentLike,
    branch: EnvironmentLike,
    suite: SuiteLike | None = None,
    *,
    others: Sequence[EnvironmentLike] = (),
    expression: str | None = None,
    tags: Collection[str] = (),
    budget: float | None = None,
    margin: float | None = None,
    fdr: float = DEFAULT_FALSE_DISCOVERY_RATE,
    instructions: bool = True,
    layouts: int = DEFAULT_LAYOUTS,
    memory: bool = True,
    seed: int | None = None,
    install: str | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    store: str | None = None,
    observer: Observer | None = None,
) -> EnvironmentComparison:
    """Return whether `branch`, and each of `others`, is slower than `base`, for each benchmark of a suite.

    The sides are what `photometer compare` takes, or an Environment. `expression` and `tags` select benchmarks.
    `budget` is the measuring time for the whole suite, in seconds, `margin` the relative change that does not matter
    (0.3 % by default, 2 % with several threads), `fdr` the share of false verdicts among all that say slower or faster.
    `seed` is that of random data in all processes; without it, each replicate has others, the same on all sides.
    `install` is a command that installs a git revision into a fresh environment. `output` is a folder for the samples
    and verdicts; with `resume` an interrupted comparison there is continued; `store` is a history store that also gets
    every record. Two results files need no suite. To do more while the environments can still be started, use
    `comparing.environments.live_comparison`.
    """
    request = ComparisonRequest(
        (base, branch, *others),
        suite,
        ComparisonSettings(budget, margin, fdr, instructions, layouts, memory=memory, seed=seed),
        expression,
        tags,
        install,
        None if output is None else Path(output),
        resume,
        store,
    )
    observer = observer or Observer()
    if not request.is_live:
        return compare_unpaired(request, observer)
    with live_comparison(request, observer) as comparison:
        return comparison.run()


@contextmanager
def live_comparison(
    request: ComparisonRequest,
    observer: Observer | None = None,
    *,
    make_session: Callable[[Environment], Session] = Session,
) -> Iterator[Comparison]:
    """Yield the comparison that a request asks for; its environments exist while the block runs."""
    source = EnvironmentSource(request, make_session=make_session)
    comparison = Comparison(source, request.settings, request.destination, observer, accepted=request.accepted)
    with comparison:
        yield comparison
