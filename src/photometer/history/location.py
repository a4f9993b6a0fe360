"""Which store is meant: the one that is named, then that of PHOTOMETER_STORE, then the project's own.

The project's own lies at the root of the git repository, in a folder that git ignores.
"""

from __future__ import annotations

import os
from pathlib import Path

from photometer.errors import StoreError
from photometer.history.connection import is_url, parse_place
from photometer.history.repository import Repository

VARIABLE = "PHOTOMETER_STORE"
FOLDER = ".photometer"
FILE = "history.sqlite"


def project_place(folder: Path | None = None) -> Path | None:
    """Return where the store of the project lies or would lie; None outside of a git repository."""
    repository = Repository.find(folder)
    return None if repository is None else repository.top / FOLDER / FILE


def find_place(given: str | None = None, folder: Path | None = None) -> str | None:
    """Return the path or URL of the store to use, or None if none is named and the project has none."""
    named = given or os.environ.get(VARIABLE)
    if named:
        return named
    own = project_place(folder)
    return str(own) if own is not None and own.exists() else None


def require_place(given: str | None = None, folder: Path | None = None) -> str:
    """Return the store to use; that there is none is an error with a remedy."""
    place = find_place(given, folder)
    if place is None:
        raise StoreError(
            "there is no history store here",
            remedy=f"Make one with `photometer history create`, or name one with --store or {VARIABLE}.",
        )
    return place


def make_store(given: str | None = None, folder: Path | None = None) -> str:
    """Make the store that is named, or the project's, unless it is there; return its place."""
    from photometer.history.store import open_store

    place = given or os.environ.get(VARIABLE) or project_place(folder)
    if place is None:
        raise StoreError(
            "this folder lies in no git repository, so it has no project to keep a history of",
            remedy=f"Name a store with --store PATH or {VARIABLE}.",
        )
    text = str(place)
    with open_store(text, create=True) as store:
        shown = store.place
    if not is_url(text):
        _keep_private(Path(str(parse_place(text).database)))
    return shown


def _keep_private(path: Path) -> None:
    """Let git ignore the project's folder, and others not read it; a folder of the user's own is left as it is."""
    if path.parent.name == FOLDER:
        path.parent.chmod(0o700)
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
