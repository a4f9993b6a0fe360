"""Put the user's own code on the path of a command, as `python -m` does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def make_own_code_importable(suites: Iterable[str | Path] = ()) -> tuple[str, ...]:
    """Make the working directory, and folders of suites' files, importable here; return them for an environment.

    The environment of this interpreter has them from here; one of another interpreter is given them.
    """
    from photometer.model.own_code import own_folders
    from photometer.worker.server import make_importable

    folders = own_folders(suites)
    make_importable(list(folders))
    return folders
