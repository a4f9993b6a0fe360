"""The option --store of commands that measure, and which store it means. `none` turns a project's own store off."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.printing import complain

if TYPE_CHECKING:
    from photometer.ci.project import ProjectSettings

NONE = "none"
WriteStore = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        help="History store to write to: a path, a URL, or none (default: PHOTOMETER_STORE, then the project's).",
    ),
]
ReadStore = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="PLACE", help="History store: a path or URL (default: PHOTOMETER_STORE, then the project's)."
    ),
]


def store_of(given: str | None, project: ProjectSettings | None = None) -> str | None:
    """Return the store that is named, or None if PHOTOMETER_STORE names one, or the project's own."""
    if given is not None or os.environ.get("PHOTOMETER_STORE"):
        return given
    from photometer.ci.project import read_project

    return (project or read_project()).store


def store_to_write(given: str | None) -> str | None:
    """Return the store that results go to, which can be opened. Say so if the project's own cannot be used."""
    if given == NONE:
        return None
    from photometer.errors import PhotometerError
    from photometer.history.location import find_place
    from photometer.history.store import open_store

    place = find_place(given)
    if place is None:
        return None
    try:
        open_store(place).close()
    except PhotometerError as error:
        if given is not None:
            raise
        complain(f"results are not stored: {error}")
        return None
    return place


def hidden(arguments: list[str]) -> list[str]:
    """Return a command line as it may be shown: without the secrets of its store."""
    if not any("://" in argument for argument in arguments):
        return arguments
    from photometer.history.connection import without_secrets

    shown = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name == "--store" and equals:
            shown.append(f"{name}={without_secrets(value, value)}")
        else:
            shown.append(without_secrets(argument, argument))
    return shown
