"""`photometer serve`: the site of the history, live from the store, on this machine only."""

from __future__ import annotations

from typing import Annotated

import typer

from photometer.cli.printing import say_aside, show_text
from photometer.cli.publish import CommitUrl, Title, site_options
from photometer.cli.store_option import ReadStore


def register(app: typer.Typer) -> None:
    app.command("serve", help="Serve the history as a site, live from the store, on localhost only.")(serve)


def serve(
    store: ReadStore = None,
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port; 0 is any free one.")] = 8756,
    commit_url: CommitUrl = None,
    title: Title = None,
) -> None:
    import contextlib
    import sys
    import time

    from photometer.history.location import require_place
    from photometer.history.repository import Repository
    from photometer.history.site.live_site import LiveSite
    from photometer.history.site.local_server import LocalServer
    from photometer.history.store import open_store

    with open_store(require_place(store), read_only=True) as opened:
        say_aside("Searching for changes…")
        options = site_options(opened, title, commit_url)
        site = LiveSite(opened, options, clock=lambda: int(time.time()), repository=Repository.find())
        with LocalServer(site, port) as server:
            show_text(server.url)
            sys.stdout.flush()
            say_aside("Ctrl-C ends it.")
            # Ctrl-C is how it is meant to end.
            with contextlib.suppress(KeyboardInterrupt):
                server.serve_forever(poll_interval=0.2)
