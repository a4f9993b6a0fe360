"""`photometer history measure` and `changes`: measure a range of commits, and show every change in the store."""

from __future__ import annotations

import time
from collections.abc import Mapping
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from photometer.ci.project_store import store_of
from photometer.cli.cluster_option import Nodes, On, commit_nodes
from photometer.cli.declared_options import with_instruments
from photometer.cli.ending import STOPPED
from photometer.cli.exit_codes import ExitCode
from photometer.cli.measuring_options import (
    Install,
    MinRunTime,
    Python,
    Repeats,
)
from photometer.cli.output_options import Json, ReadStore, give_lines
from photometer.cli.printing import complain, say_aside, show_rendered, show_text
from photometer.cli.suite_options import Cores, Expression, OneSuite, Tags, Timeout, chosen_suite
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from photometer.execution.observer import RunObserver
    from photometer.history.changes import Change
    from photometer.history.nouns import Commit
    from photometer.history.store import Store


def register(history: typer.Typer) -> None:
    history.command("measure", help="Measure a range of commits, newest first, coarse to fine; skip what is stored.")(
        with_instruments(measure)
    )
    history.command("changes", help="Show what changed, newest first: which commit, by how much, in which functions.")(
        changes
    )


def measure(
    commits: Annotated[str, typer.Argument(metavar="git:A..B", help="The commits from A to B, along first parents.")],
    suite: OneSuite = None,
    expression: Expression = None,
    tags: Tags = None,
    store: ReadStore = None,
    every: Annotated[int | None, typer.Option("--every", metavar="N", min=1, help="Every Nth commit.")] = None,
    at_most: Annotated[
        int | None, typer.Option("--commits", metavar="N", min=1, help="N commits, spread evenly.")
    ] = None,
    options: Mapping[str, bool] = {},
    min_run_time: MinRunTime = 0.2,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    repeats: Repeats = 2,
    cores: Cores = None,
    install: Install = None,
    python: Python = None,
    on: On = None,
    nodes: Nodes = None,
) -> None:
    if every is not None and at_most is not None:
        raise typer.BadParameter("give --every or --commits, not both")
    from photometer.cli.run import run_settings
    from photometer.commits.range_run import CommitOutcome, RangeRequest, outcome_words, parse_range, run_range
    from photometer.history.connection import make_store, require_place

    old, new = parse_range(commits)
    chosen = chosen_suite(suite, tags)
    place = require_place(store_of(store))
    make_store(place)
    settings = run_settings(
        cores=cores,
        python=python,
        options=options,
        min_run_time=min_run_time,
        repeats=repeats,
        ladder=False,
    )
    request = RangeRequest(
        chosen.only,
        old,
        new,
        place,
        settings,
        every,
        at_most,
        expression,
        chosen.tags,
        install,
        timeout_seconds=timeout,
    )
    outcomes: list[CommitOutcome] = []
    began = time.monotonic()
    try:
        with commit_nodes(on, nodes, settings.environment) as there:
            for outcome in run_range(request, on_commit=_begin, nodes=there):
                outcomes.append(outcome)
                failed = f", {outcome.failures} benchmarks failed" if outcome.failures else ""
                words = f"not measured: {outcome.error}" if outcome.error else f"measured{failed}"
                elapsed = time.monotonic() - began
                say_aside(f"  {outcome.commit.short} {words}, {elapsed:.0f} s in all")
    except KeyboardInterrupt:
        complain("stopped; the same command continues from here")
        raise typer.Exit(STOPPED) from None
    say_aside(outcome_words(outcomes) if outcomes else "all commits are stored already")
    raise typer.Exit(ExitCode.FAILED if outcomes and all(each.error for each in outcomes) else ExitCode.FINE)


def _begin(done: int, count: int, commit: Commit) -> RunObserver:
    from photometer.cli.progress import RunLines

    say_aside(f"commit {done + 1} of {count}: {commit.short} {commit.subject}")
    # A bar would hide what was said of the commits before; a line now and then is a sign of life.
    return RunLines(commit.short)


def changes(
    expression: Expression = None,
    tags: Tags = None,
    store: ReadStore = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="Only this metric, such as instructions; repeat for more."),
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="Only this project, if the store has several.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--rows", metavar="N", min=1, help="Maximum number of changes to show.")
    ] = None,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Compare the commits of doubtful changes live, with --suite.")
    ] = False,
    suite: OneSuite = None,
    install: Install = None,
    json: Json = None,
) -> None:
    confirming = chosen_suite(suite, None).only if confirm else None
    from photometer.history.changes import changes_in
    from photometer.history.connection import require_place
    from photometer.history.store import open_store

    place = require_place(store_of(store))
    with open_store(place) as opened:

        def look() -> list[Change]:
            return changes_in(opened, expression=expression, tags=tags or (), metrics=metric, project=project)

        found = look()
        if confirming is not None:
            _confirm(found, confirming, place, install)
            found = look()
        _print(opened, found[:limit], json)
    if not found and json is None:
        show_text("nothing changed in what is stored")


def _confirm(found: list[Change], suite: str, place: str, install: str | None) -> None:
    from photometer.cli.progress import comparison_progress
    from photometer.commits.range_run import confirm, to_confirm

    if not to_confirm(found):
        say_aside("there is nothing to confirm")
        return
    with comparison_progress() as observer:
        _, problems = confirm(
            found,
            suite,
            place,
            install=install,
            observer=observer,
            on_pair=lambda old, new, count: say_aside(f"comparing {old[:10]} with {new[:10]}, benchmarks: {count}"),
        )
    for problem in problems:
        complain(problem)


def _print(store: Store, found: list[Change], json: str | None) -> None:
    from photometer.history.changes import changed_functions
    from photometer.history.text import dates_of, render_change

    if json is not None:
        give_lines(json, (dumps(_as_record(change, changed_functions(store, change))) for change in found))
        return
    date = dates_of(change.first.commit.committed_at for change in found)
    for change in found:
        show_rendered(render_change(change, changed_functions(store, change), date) + "\n")


def _as_record(change: Change, functions: Any) -> dict[str, Any]:
    return {
        "benchmark": change.benchmark.title,
        "key": change.benchmark.key,
        "metric": change.metric.name,
        "before": change.before,
        "after": change.after,
        "relative": change.relative if change.before else None,
        "exact": change.p is None,
        "p": change.p,
        "cause": change.cause.value,
        "last_commit": change.last.commit.sha,
        "first_commit": change.first.commit.sha,
        "is_one_commit": change.is_one_commit,
        "unmeasured": None if change.unmeasured is None else list(change.unmeasured),
        "machine": change.machine.name,
        "functions": [
            {"function": each.function, "instructions_per_run": each.instructions_per_run} for each in functions
        ],
    }
