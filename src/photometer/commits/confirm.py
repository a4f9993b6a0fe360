"""Confirms suspected changes of time: the two commits beside each are compared live, side by side, on this machine.

In: changes that are not the code's by their counts. Out: verdicts, which the store keeps, so that `changes` knows them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.comparing.environments import live_comparison
from photometer.comparing.observer import Observer
from photometer.comparing.request import ComparisonRequest, ComparisonSettings, PlannedSuite, plan_suite
from photometer.errors import DefinitionError, PhotometerError
from photometer.history.changes import Cause, Change
from photometer.history.repository import Repository

# Seconds of measuring per benchmark.
SECONDS = 20.0


@dataclasses.dataclass(frozen=True)
class _SomeOrders(ComparisonRequest):
    """Of the suite, the orders with these ids."""

    keys: frozenset[str] = frozenset()

    @cached_property
    def planned(self) -> PlannedSuite | None:
        assert self.suite is not None
        all_of_it = plan_suite(self.suite, self.expression, self.tags)
        orders = tuple(order for order in all_of_it.plan if order.id in self.keys)
        if not orders:
            raise DefinitionError(
                "the suite does not have the benchmarks of these changes any more",
                remedy="Name the suite that they were measured with.",
            )
        return PlannedSuite(all_of_it.plan.only(orders), all_of_it.probes)


def to_confirm(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that a live comparison would decide."""
    return [change for change in changes if change.cause in (Cause.MACHINE, Cause.OPEN)]


def confirm(
    changes: Sequence[Change],
    suite: str,
    store: str,
    *,
    install: str | None = None,
    seconds: float = SECONDS,
    observer: Observer | None = None,
    on_pair: Callable[[str, str, int], None] = lambda old, new, count: None,
) -> tuple[tuple[EnvironmentComparison, ...], tuple[str, ...]]:
    """Compare each pair of commits once, for all benchmarks that are suspected there. Return verdicts and problems."""
    top = Repository().top
    pairs: dict[tuple[str, str], set[str]] = {}
    for change in to_confirm(changes):
        pairs.setdefault((change.last.commit.sha, change.first.commit.sha), set()).add(change.benchmark.key)
    verdicts, problems = [], []
    for (old, new), keys in pairs.items():
        on_pair(old, new, len(keys))
        try:
            request = _SomeOrders(
                (f"git:{old}@{top}", f"git:{new}@{top}"),
                suite,
                # Counts have been taken; the question is about time.
                ComparisonSettings(budget_seconds=seconds * len(keys), instructions=False, time="all"),
                install=install,
                store=store,
                keys=frozenset(keys),
            )
            with live_comparison(request, observer) as comparison:
                verdicts.append(comparison.run())
        except PhotometerError as error:
            problems.append(f"{old[:10]} and {new[:10]} could not be compared: {error.message}")
    return tuple(verdicts), tuple(problems)
