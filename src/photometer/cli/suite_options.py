"""Arguments that several subcommands share: which suites, which of their variants, on which cores, how long.

Every command that uses a suite has `--suite`; those without other arguments take it as SUITE, too. If none is given,
it is the project's own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.code_options import make_own_code_importable
from photometer.cli.option_values import seconds
from photometer.cli.printing import complain

if TYPE_CHECKING:
    from photometer.definition.suite import Suite
    from photometer.plan.work_order import WorkOrders

Suites = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SUITE…",
        help="Suites: files with BENCHMARKS, module:NAME, or names of built-in ones (default: the project's own).",
    ),
]
MoreSuites = Annotated[
    list[str] | None, typer.Option("--suite", metavar="SUITE", help="The same as SUITE; repeat for more.")
]
OneSuite = Annotated[
    str | None,
    typer.Option(
        "--suite",
        metavar="SUITE",
        help="Suite: a file with BENCHMARKS, module:NAME, or the name of a built-in one (default: the project's own).",
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
    float,
    typer.Option("--timeout", metavar="S", callback=seconds, help="Give up on a variant after this many seconds."),
]


@dataclasses.dataclass(frozen=True)
class ChosenSuites:
    """Suites, and the tags that select their benchmarks."""

    names: list[str]
    tags: list[str]

    @property
    def only(self) -> str:
        """The suite, of a command that takes one."""
        (name,) = self.names
        return name


def chosen_suites(
    suites: Sequence[str] | None, tags: Sequence[str] | None, more: Sequence[str] | None = None
) -> ChosenSuites:
    """Return the named suites; if there are none, the project's own, with the project's tags."""
    if suites or more:
        return ChosenSuites([*(suites or ()), *(more or ())], list(tags or ()))
    from photometer.ci.project import read_project

    project = read_project()
    if project.suite is None:
        raise typer.BadParameter("name a SUITE, or set suite in [tool.photometer] of pyproject.toml")
    return ChosenSuites([project.suite], list(tags or project.tags))


def chosen_suite(suite: str | None, tags: Sequence[str] | None) -> ChosenSuites:
    """Return the one suite of a command whose arguments are something else."""
    return chosen_suites(None if suite is None else [suite], tags)


def load_suites(names: Sequence[str], expression: str | None) -> list[Suite]:
    """Return suites, with their own code importable; report mistakes in them and in the expression."""
    make_own_code_importable(names)
    from photometer.definition.loading import load_suite
    from photometer.plan.selection import parse_expression

    if expression is not None:
        parse_expression(expression)
    return [saying_notes(load_suite(name)) for name in names]


def load_if_named(name: str | None) -> Suite | None:
    """Return the suite of a command that does not need one."""
    from photometer.definition.loading import load_suite

    return None if name is None else saying_notes(load_suite(name))


def saying_notes(suite: Suite) -> Suite:
    """Print what was left out of a suite of another tool, and return the suite."""
    for note in suite.notes:
        complain(note)
    return suite


def saying_selection(
    expression: str | None, tags: Collection[str] | None
) -> Callable[[WorkOrders, WorkOrders], object]:
    """Return a function that takes the whole plan and the selected one, and prints how many orders each has."""

    def say(planned: WorkOrders, selected: WorkOrders) -> None:
        from photometer.plan.selection import selection_sentences

        for sentence in selection_sentences(planned, selected, expression, tags or ()):
            complain(sentence)

    return say


def say_nothing_selected(suite: Suite, *, narrowed: bool) -> None:
    """Say why nothing of a suite runs here; `narrowed` says whether options selected from it."""
    # Benchmarks that name no device run on the CPU.
    devices = {device for entry in suite.entries for device in getattr(entry.benchmark, "devices", ()) or ("cpu",)}
    if "cpu" in devices:
        complain("nothing is selected; `photometer list` shows the labels")
    else:
        other = ", or -k or --tag chose none" if narrowed else ", which is not here"
        complain(f"nothing is selected: all benchmarks need {' or '.join(sorted(devices))}{other}")
