"""`photometer init`: a first suite, the section of pyproject.toml and a workflow, shown before they are written."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.exit_codes import ExitCode
from photometer.cli.printing import say_aside, show_text

if TYPE_CHECKING:
    from photometer.ci.first_files import FirstFiles


def register(app: typer.Typer) -> None:
    app.command("init", help="Write a first suite, settings and a CI workflow; overwrite nothing.")(init)


def init(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")] = False,
) -> None:
    from photometer.ci.first_files import plan_first_files, write_first_files

    planned = plan_first_files(Path.cwd(), os.environ)
    _show(planned)
    if not planned.files:
        raise typer.Exit(ExitCode.NOTHING_RAN)
    if dry_run:
        return
    if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        say_aside("Nothing was written. Add --yes to write these files.")
        return
    if not yes and not typer.confirm("Write these files?"):
        return
    write_first_files(planned)
    show_text(
        f"{len(planned.files)} files written. Next:\n"
        "  photometer check      runs every benchmark once\n"
        "  photometer run        measures them\n"
        "  photometer compare    compares the working tree with where it left the main branch"
    )


def _show(planned: FirstFiles) -> None:
    for file in planned.files:
        show_text(f"{'add to' if file.appends else 'new'} {file.path}")
        show_text("".join(f"    {line}\n" for line in file.text.strip("\n").splitlines()))
    for remark in planned.remarks:
        show_text(f"note: {remark}")
