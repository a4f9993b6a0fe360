"""ComparisonRequest: what a user wants to compare, in the program's terms.

In: descriptions of sides (or `--matrix "torch==2.11.0,2.12.1"`, which is expanded to one side per value), a suite, and
how to compare. Out: specs of the sides, orders with their probes, settings.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from photometer.analysis.gate import Gate
from photometer.analysis.judge import DEFAULT_FALSE_DISCOVERY_RATE, DEFAULT_MARGIN, Criteria, default_margin
from photometer.analysis.suite_judge import Question
from photometer.ci.acceptance import Acceptance
from photometer.comparing.comparison_file import Destination
from photometer.definition.loading import load_suite
from photometer.definition.suite import Suite
from photometer.environments.spec import JOINT, EnvironmentSpec, parse_environment
from photometer.environments.worktree import check_revisions
from photometer.errors import DefinitionError, EnvironmentSpecError
from photometer.model.machine import Environment
from photometer.model.order_name import label_text
from photometer.plan import WorkOrders, materialize, select
from photometer.plan.selection import names_benchmark, selection_sentences
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS, WorkOrder

_REMEDY = 'Write --matrix "torch==2.11.0,2.12.1", "python:3.11,3.12" or "env:NAME=1,2".'
# The common prefix: a kind with its colon, and a name with == or =.
_STEM = re.compile(r"(?:(?:pip|python|git|env|path):)?(?:[^=,]*==?)?")


def matrix_sides(matrices: Sequence[str], common: str | None = None) -> list[str]:
    """Return one side per value; several matrices give every combination, the last one changing fastest."""
    parts = [_values(text) for text in matrices]
    shared = () if common is None else (common,)
    return [JOINT.join((*shared, *combination)) for combination in itertools.product(*parts)]


def _values(text: str) -> list[str]:
    first, *others = [value.strip() for value in text.split(",")]
    found = _STEM.match(first)
    stem = found.group() if found is not None else ""
    values = [first[len(stem) :], *others]
    if not stem or not all(values) or len(values) < 2:
        raise EnvironmentSpecError(f"--matrix {text!r} does not give two values", remedy=_REMEDY)
    if stem.endswith("=") and ":" not in stem and not stem.endswith("=="):
        raise EnvironmentSpecError(f"--matrix {text!r}: {stem!r} is neither a package nor a setting", remedy=_REMEDY)
    kind = "" if re.match(r"(pip|python|git|env|path):", stem) else "pip:"
    return [f"{kind}{stem}{value}" for value in values]


SuiteLike = str | Suite | Mapping[Any, Any]
EnvironmentLike = str | Environment

# Most verdicts are final after 2 to 4 s of measuring; this is what a suite may spend per benchmark on average.
BUDGET_SECONDS_PER_BENCHMARK = 10.0
# Only the frozen one: every replicate of times has its own layout, and counts do not depend on it.
DEFAULT_LAYOUTS = 1


@dataclasses.dataclass(frozen=True)
class ComparisonSettings:
    """`budget_seconds` is for the whole suite, in measuring time; None is ten per timed benchmark, at least 20."""

    budget_seconds: float | None = None
    # For benchmarks without their own margin; None is the default for their number of threads.
    margin: float | None = None
    false_discovery_rate: float = DEFAULT_FALSE_DISCOVERY_RATE
    instructions: bool = True
    layouts: int = DEFAULT_LAYOUTS
    # "changed": benchmarks with the same instructions on both sides get only a few replicates; "all": all are timed in
    # full; "none": all are only counted.
    time: Literal["changed", "all", "none"] = "changed"
    # For the whole comparison, in wall-clock time.
    limit_seconds: float | None = None
    # Margins of benchmarks with a tag. A benchmark's own margin takes precedence.
    margin_by_tag: Mapping[str, float] = dataclasses.field(default_factory=dict)
    # Compare what one run allocates on both sides: exact, with a separate verdict.
    memory: bool = True
    # Margins of benchmarks by name or pattern; they take precedence over the suite's.
    margin_by_benchmark: tuple[tuple[str, float], ...] = ()
    # For a share of a suite: how many benchmarks are compared elsewhere, so that the rate holds for all of them.
    judged_elsewhere: int = 0
    # Other instruments whose figures are exact, by the names of their options: {"cache": True}.
    options: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    # Of random data, in all processes of all sides; None is a fixed one for counts and another for each replicate.
    seed: int | None = None
    # For each benchmark that does not say itself how long it may take.
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    # The rules that the verdicts will be judged by: a benchmark that may be slower by 5 % is measured until it is known
    # whether it is. None asks for the verdicts themselves.
    gate: Gate | None = None

    def __post_init__(self) -> None:
        if self.budget_seconds is not None and not self.budget_seconds > 0:
            raise DefinitionError(f"the budget is {self.budget_seconds}", remedy="Give seconds, greater than 0.")
        if not 0.0 < self.false_discovery_rate < 1.0:
            raise DefinitionError(
                f"the false discovery rate is {self.false_discovery_rate}", remedy="Give a share such as 0.05."
            )
        if self.layouts < 1:
            raise DefinitionError(f"layouts is {self.layouts}", remedy="Give at least 1.")
        if self.limit_seconds is not None and not self.limit_seconds > 0:
            raise DefinitionError(f"the limit is {self.limit_seconds}", remedy="Give seconds, greater than 0.")
        if not self.timeout_seconds > 0:
            raise DefinitionError(f"the timeout is {self.timeout_seconds}", remedy="Give seconds, greater than 0.")
        if self.time == "none" and not self.instructions:
            raise DefinitionError(
                "neither times nor instructions are requested", remedy="Count instructions, or time what changed."
            )

    def budget_for(self, benchmarks: int) -> float:
        """Return the measuring seconds for this many benchmarks; a single one may use the maximum for one."""
        if self.budget_seconds is not None:
            return self.budget_seconds
        return max(BUDGET_SECONDS_PER_BENCHMARK * benchmarks, self.most_seconds_each)

    @property
    def most_seconds_each(self) -> float:
        """Return the maximum that one benchmark may use of the default budget, so that a noisy one leaves some."""
        return 2.0 * BUDGET_SECONDS_PER_BENCHMARK if self.budget_seconds is None else math.inf

    def margin_of(self, order: WorkOrder) -> float:
        """Return the first that exists: the margin for its name, its own, the largest of its tags, the general one."""
        title = label_text(order.label)
        for pattern, margin in reversed(self.margin_by_benchmark):
            if names_benchmark(pattern, title):
                return margin
        if order.margin is not None:
            return order.margin
        otherwise = default_margin(order.args.num_threads) if self.margin is None else self.margin
        return max((self.margin_by_tag[tag] for tag in order.tags if tag in self.margin_by_tag), default=otherwise)

    def question_of(self, order: WorkOrder, title: str) -> Question:
        """Return the question that decides a benchmark: its verdict, or whether it is slower than allowed."""
        allowed = None if self.gate is None else self.gate.allowed_slowdown(title, order)
        return Question(self.margin_of(order), allowed)

    @property
    def common_margin(self) -> float:
        """Return the margin of most benchmarks: those with one thread and without their own margin."""
        return DEFAULT_MARGIN if self.margin is None else self.margin

    @property
    def criteria(self) -> Criteria:
        """Return the criteria for verdicts."""
        return Criteria(margin=self.common_margin)


@dataclasses.dataclass(frozen=True)
class ComparisonRequest:
    """Two or more sides, the reference first, and what to compare on them.

    `output` is a folder for samples and verdicts; with `resume` an interrupted comparison there is continued.
    """

    sides: Sequence[EnvironmentLike]
    suite: SuiteLike | None = None
    settings: ComparisonSettings = dataclasses.field(default_factory=ComparisonSettings)
    expression: str | None = None
    tags: Collection[str] = ()
    install: str | None = None
    output: Path | None = None
    resume: bool = False
    # A history store, by path or URL, that also gets every record.
    store: str | None = None
    # What the branch's author accepts: shown beside the verdicts.
    accepted: tuple[Acceptance, ...] = ()

    def __post_init__(self) -> None:
        if len(self.sides) < 2:
            raise DefinitionError("there is only one side", remedy="Give the reference and at least one other side.")

    @cached_property
    def specs(self) -> tuple[EnvironmentSpec, ...]:
        return tuple(map(spec_of, self.sides))

    @property
    def destination(self) -> Destination:
        return Destination(self.output, self.resume, store=self.store)

    @cached_property
    def planned(self) -> PlannedSuite | None:
        if self.suite is None:
            return None
        planned = plan_suite(self.suite, self.expression, self.tags, timeout_seconds=self.settings.timeout_seconds)
        return planned.seeded(self.settings.seed)

    def check(self) -> None:
        """Raise errors that are known before anything is made or started: suite, revisions, output folder."""
        _ = self.planned
        check_revisions(spec.git for spec in self.specs)
        self.destination.check()

    @property
    def is_live(self) -> bool:
        """Return whether all sides can be started; a results file cannot."""
        return all(spec.results is None for spec in self.specs)


@dataclasses.dataclass(frozen=True)
class PlannedSuite:
    """The orders, and by id the probes that write the results of those that have any."""

    plan: WorkOrders
    probes: Mapping[str, WorkOrder]
    # Sentences about the selection, if there was one.
    selection: tuple[str, ...] = ()
    # Folders that are first on the path of every side: the code of a suite of another tool.
    folders: tuple[str, ...] = ()

    def seeded(self, seed: int | None) -> PlannedSuite:
        """Return the suite with the user's seed of random data, if there is one."""
        if seed is None:
            return self
        probes = {order_id: dataclasses.replace(probe, seed=seed) for order_id, probe in self.probes.items()}
        return dataclasses.replace(self, plan=self.plan.seeded(seed), probes=probes)


def spec_of(environment: EnvironmentLike) -> EnvironmentSpec:
    if isinstance(environment, str):
        return parse_environment(environment)
    return EnvironmentSpec(
        environment.name or environment.python,
        python=environment.python,
        variables=environment.variables,
        path=environment.path,
    )


def plan_suite(
    suite: SuiteLike,
    expression: str | None,
    tags: Collection[str],
    *,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> PlannedSuite:
    """Return the variants of a suite that an expression and tags select, as work orders."""
    loaded = load_suite(suite) if isinstance(suite, str) else suite
    whole = materialize(loaded, timeout_seconds=timeout_seconds)
    plan = select(whole, expression, tags)
    measured = {order.id: order.args for order in plan}
    probes = {
        order.id: order
        for order in materialize(loaded, timeout_seconds=timeout_seconds, probe=True)
        if order.id in measured and order.args != measured[order.id]
    }
    folders = loaded.folders if isinstance(loaded, Suite) else ()
    return PlannedSuite(plan, probes, tuple(selection_sentences(whole, plan, expression, tags)), folders)
