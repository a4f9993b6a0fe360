"""compare_environments: verdicts for a suite in two environments."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE
from photometer.comparing.live import LiveComparison
from photometer.comparing.observer import Observer
from photometer.comparing.request import (
    DEFAULT_LAYOUTS,
    ComparisonRequest,
    ComparisonSettings,
    EnvironmentLike,
    SuiteLike,
)
from photometer.comparing.unpaired import compare_unpaired


def compare_environments(
    base: EnvironmentLike,
    branch: EnvironmentLike,
    suite: SuiteLike | None = None,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    budget: float | None = None,
    margin: float | None = None,
    fdr: float = DEFAULT_FALSE_DISCOVERY_RATE,
    instructions: bool = True,
    layouts: int = DEFAULT_LAYOUTS,
    memory: bool = True,
    install: str | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    store: str | None = None,
    observer: Observer | None = None,
) -> EnvironmentComparison:
    """Return whether `branch` is slower than `base`, for each benchmark that `expression` and `tags` select.

    The sides are what `photometer compare` takes, or an Environment. `budget` is the measuring time for the whole
    suite, in seconds, `margin` the relative change that does not matter (0.3 % by default, 2 % with several threads),
    `fdr` the share of false verdicts among all that say slower or faster. `install` is a command that installs a git
    revision into a fresh environment. `output` is a folder for the samples and verdicts; with `resume` an interrupted
    comparison there is continued; `store` is a history store that also gets every record. Two results files need no
    suite. To do more while the environments can still be started, use `comparing.live.LiveComparison`.
    """
    request = ComparisonRequest(
        base,
        branch,
        suite,
        ComparisonSettings(budget, margin, fdr, instructions, layouts, memory=memory),
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
    with LiveComparison(request, observer) as live:
        return live.run()
