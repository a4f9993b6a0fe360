"""`photometer history …`: make, fill, read and publish a store of results over commits.

A store is published as a site, to a folder or live. There is one function per subcommand; history/text.py writes what
they show. Measuring is in history_measure.py.
"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.ci.project_store import store_of
from photometer.cli import history_measure
from photometer.cli.exit_codes import ExitCode
from photometer.cli.help_page import PhotometerGroup
from photometer.cli.output_options import ON_TERMINAL, TERMINAL, ReadStore, Wanted, folder_option, with_formats
from photometer.cli.printing import complain, say_aside, say_progress, show_rendered, show_text, terminal_width
from photometer.cli.suite_options import Expression, Tags

if TYPE_CHECKING:
    from photometer.history.site.index_data import SiteOptions
    from photometer.history.store import Store
    from photometer.report.tables.formats import Format

Machine = Annotated[
    str | None,
    typer.Option(
        "--machine",
        metavar="WORDS",
        help="Only machines whose name contains this, or whose fingerprint begins with it.",
    ),
]
Project = Annotated[
    str | None, typer.Option("--project", metavar="NAME", help="Only this project, if the store has several.")
]


def register(app: typer.Typer) -> None:
    history = typer.Typer(
        name="history",
        cls=PhotometerGroup,
        help="Keep results of many commits and see what changed.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    history.command("create", help="Make a store for this project; run, compare and ab then write to it.")(create)
    history.command("add", help="Add results files. Adding one twice changes nothing.")(add)
    history.command("runs", help="List the runs, newest first.")(with_formats(runs))
    history.command("curves", help="Show benchmarks and their curves over commits.")(with_formats(curves))
    history_measure.register(history)
    history.command("diff", help="Compare two measured commits benchmark by benchmark.")(with_formats(diff))
    history.command("export", help="Write runs as results files, or all curves as a table.")(with_formats(export))
    history.command("publish", help="Write the history as a static site; it opens from disk or any web server.")(
        publish
    )
    history.command("serve", help="Serve the history as a site, live from the store, on localhost only.")(serve)
    history.command("prune", help="Delete runs.")(prune)
    history.command("verify", help="Check that a store is intact, and show what it contains.")(verify)
    app.add_typer(history)


def create(store: ReadStore = None) -> None:
    from photometer.history.connection import make_store

    say_aside(f"history store: {make_store(store_of(store))}")


def add(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Results files.")],
    store: ReadStore = None,
    commit: Annotated[
        str | None, typer.Option("--commit", metavar="REV", help="Commit of the results, if the files name none.")
    ] = None,
    branch: Annotated[str, typer.Option("--branch", metavar="NAME", help="Branch of the results.")] = "",
    project: Annotated[str, typer.Option("--project", metavar="NAME", help="Project of the results.")] = "",
    recover: Annotated[bool, typer.Option("--recover", help="Use the intact records of a damaged file.")] = False,
) -> None:
    from photometer.errors import PhotometerError
    from photometer.history.recorder import add_file

    failed = 0
    with _opened(store, write=True) as opened:
        for path in files:
            try:
                added = add_file(opened, path, commit=commit, branch=branch, project=project, recover=recover)
            except PhotometerError as error:
                complain(str(error))
                failed += 1
                continue
            known = f", {added.known} were already there" if added.known else ""
            not_final = f"; {added.not_final} that are not final are left out" if added.not_final else ""
            show_text(f"{path}: run {added.run_id}, {added.new} new results{known}{not_final}")
    raise typer.Exit(ExitCode.FAILED if failed else ExitCode.FINE)


def runs(
    store: ReadStore = None,
    limit: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="Maximum number of runs to show.")] = 30,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Only results of run, compare or ab.")
    ] = None,
    commit: Annotated[str | None, typer.Option("--commit", metavar="REV", help="Only this commit.")] = None,
    project: Project = None,
    asked: Wanted = ON_TERMINAL,
) -> None:
    from photometer.history.text import table_of_runs

    with _opened(store) as opened:
        found = opened.runs(limit=limit, kind=kind, commit=commit, project=project)
    if not found:
        complain("the store has no such runs; `photometer run` and `photometer history add` add some")
        raise typer.Exit(ExitCode.NOTHING_RAN)
    asked.give(lambda each: each.render(table_of_runs(found)))


def curves(
    expression: Expression = None,
    tags: Tags = None,
    store: ReadStore = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="Only this metric, such as time; repeat for more."),
    ] = None,
    points: Annotated[int, typer.Option("--points", metavar="N", min=0, help="Last values of each curve to show.")] = 5,
    machine: Machine = None,
    project: Project = None,
    asked: Wanted = ON_TERMINAL,
) -> None:
    from photometer.history.changes import FOLLOWING
    from photometer.history.text import render_curve, table_of_curves, visible_block

    shown = []
    with _opened(store) as opened:
        benchmarks = opened.benchmarks(expression, tags or ())
        for benchmark in benchmarks:
            chosen = [
                curve
                for curve in opened.curves(benchmark.id, project=project)
                if (any(map(curve.metric.is_called, metric)) if metric else curve.metric.name not in FOLLOWING)
                and _is_of(curve.machine, machine)
            ]
            shown += chosen
            if chosen and asked.printed is TERMINAL:
                show_rendered(visible_block([benchmark.title]))
                for curve in chosen:
                    show_rendered(render_curve(curve, with_points=points, width=terminal_width()))
    if not benchmarks:
        complain("no benchmark is selected; `photometer history curves` without -k shows all")
        raise typer.Exit(ExitCode.NOTHING_RAN)

    def in_format(format: Format) -> str:
        return format.render(table_of_curves(shown, points))

    if asked.printed is not TERMINAL:
        show_rendered(in_format(asked.printed))
    asked.write(in_format)


def diff(
    base: Annotated[str, typer.Argument(metavar="REV", help="The older commit.")],
    branch: Annotated[str, typer.Argument(metavar="REV", help="The newer commit.")],
    expression: Expression = None,
    tags: Tags = None,
    store: ReadStore = None,
    machine: Machine = None,
    everything: Annotated[bool, typer.Option("--all", help="Show unchanged benchmarks, too.")] = False,
    asked: Wanted = ON_TERMINAL,
) -> None:
    from photometer.history.two_commits import compare_commits, render_comparison, table_of_comparison

    with _opened(store) as opened:
        rows = compare_commits(
            opened, base, branch, expression=expression, tags=tags or (), is_wanted=lambda each: _is_of(each, machine)
        )
    if not rows:
        complain("no benchmark is measured at both commits on one machine; `photometer history runs` shows the runs")
        raise typer.Exit(ExitCode.NOTHING_RAN)

    def in_format(format: Format) -> str:
        if format is TERMINAL:
            return render_comparison(rows, everything=everything, width=terminal_width())
        return format.render(table_of_comparison(rows, everything=everything))

    asked.give(in_format)


def export(
    output: Annotated[Path | None, folder_option("Folder for a results file per run.")] = None,
    asked: Wanted = ON_TERMINAL,
    store: ReadStore = None,
    commit: Annotated[str | None, typer.Option("--commit", metavar="REV", help="Only this commit.")] = None,
    expression: Expression = None,
) -> None:
    from photometer.history.upkeep import export_runs, render_curves

    if output is None and asked == ON_TERMINAL:
        raise typer.BadParameter("choose what to write: -o DIR for runs; --csv, --json or another format for curves")
    with _opened(store) as opened:
        if output is not None:
            count = export_runs(opened, output, commit=commit)
            say_aside(f"{count} runs written to {output}")

        def in_format(format: Format) -> str:
            return render_curves(opened, format, expression)

        if asked.printed is not TERMINAL:
            show_rendered(in_format(asked.printed))
        asked.write(in_format)


def prune(
    store: ReadStore = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="DATE", help="Runs older than this date, such as 2026-01-31.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", metavar="N", min=1, help="All but the newest N runs of each commit.")
    ] = None,
    dirty: Annotated[bool, typer.Option("--dirty", help="Runs of changed working trees.")] = False,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Runs that were not finished.")] = False,
    run_ids: Annotated[list[int] | None, typer.Option("--run", metavar="N", help="This run; repeat for more.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete them (default: only list them).")] = False,
) -> None:
    from photometer.history.text import render_runs
    from photometer.history.upkeep import Pruning, choose, delete_runs

    wanted = Pruning.parse(before=before, keep=keep, dirty=dirty, unfinished=unfinished, run_ids=run_ids or ())
    with _opened(store, write=True) as opened:
        chosen = choose(opened, wanted)
        if not chosen:
            say_aside("there is nothing to delete")
            return
        show_rendered(render_runs(chosen, terminal_width()))
        if not yes:
            say_aside(f"{len(chosen)} runs would be deleted; --yes deletes them")
            return
        freed = delete_runs(opened, [run.id for run in chosen])
    say_aside(f"{len(chosen)} runs deleted, {freed} records that no other run uses")


def verify(store: ReadStore = None) -> None:
    from photometer.history.connection import require_place
    from photometer.history.upkeep import examine

    found = examine(require_place(store_of(store)))
    show_text("\n".join(found.facts))
    for problem in found.problems:
        complain(problem)
    raise typer.Exit(ExitCode.FAILED if found.problems else ExitCode.FINE)


def _opened(store: str | None, *, write: bool = False) -> Store:
    from photometer.history.connection import require_place
    from photometer.history.store import open_store

    return open_store(require_place(store_of(store)), read_only=not write)


def _is_of(machine: object, words: str | None) -> bool:
    from photometer.history.nouns import Machine as Stored

    assert isinstance(machine, Stored)
    return words is None or words.lower() in machine.name.lower() or machine.fingerprint.startswith(words)


CommitUrl = Annotated[
    str | None,
    typer.Option(
        "--commit-url",
        metavar="PATTERN",
        help="Link commits: an address with {sha} in it, such as https://github.com/OWNER/NAME/commit/{sha}.",
    ),
]
Title = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="Title of the site (default: the name of the project).")
]


def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the site; it is made if it is missing.")],
    store: ReadStore = None,
    commit_url: CommitUrl = None,
    title: Title = None,
) -> None:
    from photometer.history.connection import require_place
    from photometer.history.repository import Repository
    from photometer.history.site.site_files import publish_site
    from photometer.history.store import open_store

    with open_store(require_place(store_of(store)), read_only=True) as opened:
        options = _site_options(opened, title, commit_url)
        repository = Repository.find()
        done = publish_site(
            opened, folder, options, int(time.time()), repository=repository, on_benchmark=_show_progress
        )
    written = "" if done.written == done.files else f", {done.written:,} of them rewritten"
    say_aside(
        f"{_counted(done.benchmarks, 'benchmark')}, {_counted(done.commits, 'commit')}, "
        f"{_counted(done.changes, 'change')}: {done.files:,} files{written}, {done.total_bytes / 1e6:.1f} MB"
    )
    show_text(str(done.page))


def serve(
    store: ReadStore = None,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port; 0 chooses a free one.")
    ] = 8756,
    commit_url: CommitUrl = None,
    title: Title = None,
) -> None:
    from photometer.history.connection import require_place
    from photometer.history.repository import Repository
    from photometer.history.site.local_server import LiveSite, LocalServer
    from photometer.history.store import open_store

    with open_store(require_place(store_of(store)), read_only=True) as opened:
        say_aside("Searching for changes…")
        options = _site_options(opened, title, commit_url)
        site = LiveSite(opened, options, clock=lambda: int(time.time()), repository=Repository.find())
        with LocalServer(site, port) as server:
            show_text(server.url)
            sys.stdout.flush()
            say_aside("Press Ctrl-C to stop it.")
            # Ctrl-C is how it is meant to end.
            with contextlib.suppress(KeyboardInterrupt):
                server.serve_forever(poll_interval=0.2)


def _show_progress(done: int, of: int) -> None:
    """Count on a terminal: a large history takes a minute."""
    if sys.stderr.isatty():
        say_progress(f"{done:,} of {of:,} benchmarks", is_last=done == of)


def _site_options(store: Store, title: str | None, commit_url: str | None) -> SiteOptions:
    """Return the options of a site; the title is the project's name if the store has only one."""
    from photometer.history.site.index_data import SiteOptions, checked_commit_url

    projects = {run.project for run in store.runs() if run.project}
    return SiteOptions(
        title=title or (projects.pop() if len(projects) == 1 else "History"), commit_url=checked_commit_url(commit_url)
    )


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
