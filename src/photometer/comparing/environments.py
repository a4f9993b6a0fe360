"""compare_environments: from two descriptions of environments and a suite to verdicts, each stage one call."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE, DEFAULT_MARGIN
from photometer.comparing.comparison_file import open_comparison
from photometer.comparing.live import compare_live
from photometer.comparing.observer import Observer
from photometer.comparing.preflight import Sides
from photometer.comparing.request import EnvironmentLike, SuiteLike, plan_of, spec_of
from photometer.comparing.settings import DEFAULT_LAYOUTS, ComparisonSettings
from photometer.comparing.unpaired import compare_unpaired
from photometer.environments.resolved import resolve_environment
from photometer.environments.worktree import Worktrees
from photometer.errors import DefinitionError
from photometer.plan import WorkOrders

Afterwards = Callable[[Sides, WorkOrders, EnvironmentComparison], object]


def compare_environments(
    base: EnvironmentLike,
    branch: EnvironmentLike,
    suite: SuiteLike | None = None,
    *,
    expression: str | None = None,
    tags: Collection[str] = (),
    budget: float | None = None,
    margin: float = DEFAULT_MARGIN,
    fdr: float = DEFAULT_FALSE_DISCOVERY_RATE,
    instructions: bool = True,
    layouts: int = DEFAULT_LAYOUTS,
    install: str | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    observer: Observer | None = None,
    afterwards: Afterwards = lambda *_: None,
) -> EnvironmentComparison:
    """Whether `branch` is slower than `base`, for each benchmark of the suite that `expression` and `tags` select.

    The sides are what `photometer compare` takes, or an Environment. `budget` is seconds of measuring for the whole
    suite, `margin` the relative change not worth a word, `fdr` the share of false verdicts among all that say slower or
    faster. `install` is a command that installs a git revision into a fresh environment. `output` is a folder for the
    samples and verdicts; with `resume` an interrupted comparison there is continued. Two results files need no suite.
    `afterwards` is called once the verdicts of a live comparison stand, while its environments can still be started.
    """
    settings = ComparisonSettings(budget, margin, fdr, instructions, layouts)
    observer = observer or Observer()
    specs = (spec_of(base), spec_of(branch))
    plan, probes = (None, {}) if suite is None else plan_of(suite, expression, tags)
    if any(spec.results is not None for spec in specs):
        return compare_unpaired(specs, plan, settings, observer, install=install)
    if plan is None:
        raise DefinitionError("no suite is given", remedy="Name what to run: --suite SUITE.")
    if not len(plan):
        return EnvironmentComparison(specs[0].text, specs[1].text, plan.suite, ())
    with Worktrees() as worktrees:
        observer.stage("making both environments")
        sides = (
            resolve_environment(specs[0], worktrees, install=install),
            resolve_environment(specs[1], worktrees, install=install),
        )
        description = {
            "base": sides[0].identity(),
            "branch": sides[1].identity(),
            "suite": plan.suite,
            "fingerprint": plan.fingerprint,
            "margin": margin,
            "false_discovery_rate": fdr,
        }
        file = open_comparison(None if output is None else Path(output), description, resume=resume)
        comparison = compare_live(sides, plan, probes, settings, file, observer)
        afterwards(sides, plan, comparison)
        return comparison
