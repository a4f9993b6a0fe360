"""make_results_folder: a folder for results that git does not see, as pytest's and mypy's caches do it."""

from __future__ import annotations

import contextlib
from pathlib import Path

IGNORED = "# Made by photometer: results are not part of the code.\n*\n"


def make_results_folder(folder: Path) -> None:
    """Make the folder and those above it. The topmost new one gets a .gitignore; one that was there is left alone."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if missing:
        # Results are worth more than their being ignored.
        with contextlib.suppress(OSError):
            (missing[-1] / ".gitignore").write_text(IGNORED, encoding="utf-8")
