"""Arguments that several subcommands take alike: which suites, which of their variants, on which cores, how long."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.numbers import seconds
from photometer.cli.printing import complain

if TYPE_CHECKING:
    from photometer.plan.work_order import WorkOrders

SUITE_HELP = "Suite: a file with BENCHMARKS, module:NAME, or the name of a shipped one."

Suites = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SUITE…",
        help="Suites: files with BENCHMARKS, module:NAME, or names of shipped ones (default: the project's own).",
    ),
]
Expression = Annotated[
    str | None, typer.Option("-k", metavar="EXPR", help="Only labels that match, such as 'matmul and not backward'.")
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only benchmarks with this tag; repeat for more.")
]
Cores = Annotated[
    str | None, typer.Option("--cores", metavar="LIST", help="Cores to use, such as 0,2-5 (default: all).")
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="S", callback=seconds, help="Give up a variant after this many seconds.")
]


def saying_selection(
    expression: str | None, tags: Collection[str] | None
) -> Callable[[WorkOrders, WorkOrders], object]:
    """Return what hears of the whole plan and the selected one, and says how many those are."""

    def say(planned: WorkOrders, selected: WorkOrders) -> None:
        from photometer.plan.suggestion import selection_sentences

        for sentence in selection_sentences(planned, selected, expression, tags or ()):
            complain(sentence)

    return say
