"""`photometer publish DIR`: the history as a static site, which opens from disk or from any web server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.printing import say_aside, say_progress, show_text
from photometer.cli.store_option import ReadStore

if TYPE_CHECKING:
    from photometer.history.site.index_data import SiteOptions
    from photometer.history.store import Store

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


def register(app: typer.Typer) -> None:
    app.command("publish", help="Write the history as a static site; it opens from disk or any web server.")(publish)


def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the site; it is made if it is missing.")],
    store: ReadStore = None,
    commit_url: CommitUrl = None,
    title: Title = None,
) -> None:
    import time

    from photometer.history.location import require_place
    from photometer.history.repository import Repository
    from photometer.history.site.site_files import publish_site
    from photometer.history.store import open_store

    with open_store(require_place(store), read_only=True) as opened:
        options = site_options(opened, title, commit_url)
        repository = Repository.find()
        done = publish_site(
            opened, folder, options, int(time.time()), repository=repository, on_benchmark=_show_progress
        )
    say_aside(
        f"{_counted(done.benchmarks, 'benchmark')}, {_counted(done.commits, 'commit')}, "
        f"{_counted(done.changes, 'change')}: {done.files:,} files, {done.total_bytes / 1e6:.1f} MB"
    )
    show_text(str(done.page))


def _show_progress(done: int, of: int) -> None:
    """Count on a terminal: a large history takes a minute."""
    if sys.stderr.isatty():
        say_progress(f"{done:,} of {of:,} benchmarks", is_last=done == of)


def site_options(store: Store, title: str | None, commit_url: str | None) -> SiteOptions:
    """Return the options of a site; the title is the project's name if the store has only one."""
    from photometer.history.site.index_data import SiteOptions, checked_commit_url

    projects = {run.project for run in store.runs() if run.project}
    return SiteOptions(
        title=title or (projects.pop() if len(projects) == 1 else "History"), commit_url=checked_commit_url(commit_url)
    )


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
