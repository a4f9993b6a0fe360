"""The option --store of commands that measure, and the store it selects. `none` turns a project's own store off."""

from __future__ import annotations

from typing import Annotated

import typer

from photometer.ci.project_store import place_to_write, store_of
from photometer.cli.printing import complain

__all__ = ["ReadStore", "WriteStore", "hidden", "store_of", "store_to_write"]

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


def store_to_write(given: str | None) -> str | None:
    """Return the store for results, which can be opened. Print a warning if the project's own cannot be used."""
    return place_to_write(given, complain)


def hidden(arguments: list[str]) -> list[str]:
    """Return a command line without the secrets of its store."""
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
