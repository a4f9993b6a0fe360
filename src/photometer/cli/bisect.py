"""`photometer bisect GOOD BAD --suite SUITE`: names the first commit that changed a benchmark. Exit code 0 if found."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.ci.project_store import store_of
from photometer.cli.cluster_option import Nodes, On, commit_nodes
from photometer.cli.ending import STOPPED
from photometer.cli.exit_codes import ExitCode
from photometer.cli.measuring_options import Install, budget_option
from photometer.cli.output_options import WriteStore, store_to_write
from photometer.cli.printing import complain, say_aside, show_rendered
from photometer.cli.suite_options import Expression, OneSuite, Tags, Timeout, chosen_suite
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from photometer.history.nouns import Commit


class MetricChoice(str, enum.Enum):
    INSTRUCTIONS = "instructions"
    TIME = "time"
    MEMORY = "memory"


def register(app: typer.Typer) -> None:
    app.command("bisect", help="Find the first commit that changed a benchmark.")(bisect)


def bisect(
    good: Annotated[str, typer.Argument(metavar="GOOD", help="A revision before the change.")],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="A revision after it.")],
    suite: OneSuite = None,
    expression: Expression = None,
    tags: Tags = None,
    metric: Annotated[
        MetricChoice | None,
        typer.Option("--metric", help="What changed (default: instructions if they differ, otherwise time)."),
    ] = None,
    install: Install = None,
    compare_seconds: Annotated[float, budget_option("Maximum seconds to measure in each comparison by time.")] = 20.0,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    store: WriteStore = None,
    on: On = None,
    nodes: Nodes = None,
) -> None:
    from photometer.commits.search import MetricName, Nothing, SearchRequest, find_first, render_first
    from photometer.errors import ToolMissing
    from photometer.model.machine import Environment
    from photometer.session.valgrind import find_valgrind

    chosen = chosen_suite(suite, tags)
    wanted: MetricName | None = None if metric is None else metric.value
    if wanted is None:
        try:
            find_valgrind()
        except ToolMissing as missing:
            complain(f"by time only. {missing}")
            wanted = "time"
    request = SearchRequest(
        good,
        bad,
        chosen.only,
        wanted,
        expression,
        chosen.tags,
        install,
        store_to_write(store_of(store)),
        seconds=compare_seconds,
        timeout_seconds=timeout,
    )
    try:
        with commit_nodes(on, nodes, Environment.current()) as there:
            found = find_first(request, _say_step, nodes=there)
    except Nothing as nothing:
        complain(str(nothing))
        raise typer.Exit(ExitCode.NOTHING_RAN) from None
    except KeyboardInterrupt:
        complain("stopped; the same command continues from here")
        raise typer.Exit(STOPPED) from None
    show_rendered(render_first(found))
    raise typer.Exit(ExitCode.FINE if found.commit is not None else ExitCode.UNDECIDED)


def _say_step(step: int, count: int, commit: Commit, words: str) -> None:
    say_aside(f"step {step}: {commit.short} {commit.subject}: {words}")
