"""`photometer comment DIR`: posts a comparison on its pull request, or updates the comment that is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from photometer.cli.printing import complain, show_rendered, show_text


def register(app: typer.Typer) -> None:
    app.command("comment", help="Post a comparison on its GitHub pull request; update the comment if it is there.")(
        comment
    )


def comment(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that `photometer compare --format github -o DIR` wrote.")
    ],
    pull_request: Annotated[
        int | None,
        typer.Option("--pull-request", metavar="N", min=1, help="Number (default: that of the workflow's event)."),
    ] = None,
    repository: Annotated[
        str | None, typer.Option("--repository", metavar="OWNER/NAME", help="Repository (default: GITHUB_REPOSITORY).")
    ] = None,
    link: Annotated[
        str | None,
        typer.Option("--link", metavar="URL", help="Address of the artifact (default: that of the workflow's run)."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Name that tells several comments apart (default: the suite)."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the comment and post nothing.")] = False,
) -> None:
    """Post the comment; the token is read only from the variable GITHUB_TOKEN."""
    import dataclasses

    from photometer.ci.comment_text import render_comment
    from photometer.ci.github_api import GitHubApi
    from photometer.ci.github_run import GitHubRun
    from photometer.ci.review import read_review

    run = GitHubRun.here(os.environ)
    review = read_review(folder)
    if name is not None:
        review = dataclasses.replace(review, name=name)
    text = render_comment(review, link or run.run_url)
    if dry_run:
        show_rendered(text)
        return
    api = GitHubApi(repository or run.repository, run.token, run.api_url, say=complain)
    number = pull_request or run.pull_request
    if number is None and run.head is not None:
        number = api.pull_request_of(run.head)
        if number is None:
            complain("no open pull request has this commit as its head any more; nothing was posted")
            return
    if number is None:
        raise typer.BadParameter("the workflow's event names no pull request; give --pull-request N")
    posted = api.post(number, text)
    show_text(f"{posted.action} {posted.address}".strip())
