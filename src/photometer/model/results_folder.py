"""A folder for results: checked before anything is measured, and made so that git ignores it.

pytest's and mypy's caches do the same.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from photometer.model.whole_file import not_written

# Where commands keep results, below the working folder, unless -o names another place.
RESULTS_FOLDER = Path("photometer-results")
# What `run` and `compare` write there.
RESULT_FILES = ("results.json", "comparison.json")
IGNORED = "# Made by photometer: results are not part of the code.\n*\n"


def check_results_folder(folder: Path) -> None:
    """Raise ResultsFileError if the folder cannot be written to. Make nothing."""
    whole = folder.absolute()
    there = next(each for each in (whole, *whole.parents) if each.exists())
    problem = 0 if there.is_dir() else errno.ENOTDIR
    if not problem and not os.access(there, os.W_OK | os.X_OK):
        problem = errno.EACCES
    if problem:
        error = OSError(problem, os.strerror(problem))
        raise not_written(folder, error, remedy="Name another folder with -o.")


def make_results_folder(folder: Path) -> None:
    """Make the folder and those above it. The topmost new one gets a .gitignore; one that was there is left alone."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if missing:
        # Results are worth more than their being ignored.
        with contextlib.suppress(OSError):
            (missing[-1] / ".gitignore").write_text(IGNORED, encoding="utf-8")
