"""`photometer history publish` and `serve`: the history as a site, written to a folder or live from the store."""

from __future__ import annotations

import contextlib
import sys
import time
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


def register(history: typer.Typer) -> None:
    history.command("publish", help="Write the history as a static site; it opens from disk or any web server.")(
        publish
    )
    history.command("serve", help="Serve the history as a site, live from the store, on localhost only.")(serve)


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

    with open_store(require_place(store), read_only=True) as opened:
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

    with open_store(require_place(store), read_only=True) as opened:
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
