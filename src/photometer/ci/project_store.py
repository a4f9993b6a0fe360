"""Choose the history store for results: the one given, PHOTOMETER_STORE's, or the project's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from photometer.ci.project import ProjectSettings

# Instead of a store: write to none, even if the project has one.
NONE = "none"


def store_of(given: str | None, project: ProjectSettings | None = None) -> str | None:
    """Return the store that is given, or the project's own; None if PHOTOMETER_STORE names one."""
    if given is not None or os.environ.get("PHOTOMETER_STORE"):
        return given
    from photometer.ci.project import read_project

    return (project or read_project()).store


def place_to_write(given: str | None, warn: Callable[[str], object]) -> str | None:
    """Return the store to write results to, after opening it once. Warn if the project's own cannot be used."""
    if given == NONE:
        return None
    from photometer.errors import PhotometerError
    from photometer.history.connection import find_place

    place = find_place(given)
    if place is None:
        return None
    from photometer.history.store import open_store

    try:
        open_store(place).close()
    except PhotometerError as error:
        if given is not None:
            raise
        warn(f"results are not stored: {error}")
        return None
    return place
