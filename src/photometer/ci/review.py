"""Review: a comparison with the gate's verdict, kept as a file, so that another process can post it.

The file is data: a workflow with a token reads what one without a token wrote. Renderers escape all its text.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import ClassVar

from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.analysis.gate import GateVerdict
from photometer.errors import PhotometerError, ResultsFileError
from photometer.model.records import from_record, to_record
from photometer.model.whole_file import write_text_whole

FILE_NAME = "review.json"
# 2: a comparison has any number of sides, by their names.
VERSION = 2
# Two thousand benchmarks with their causes take 4 MB.
MOST_BYTES = 32 * 1024 * 1024


@dataclasses.dataclass(frozen=True)
class Review:
    """`name` tells the comments of several suites apart on one pull request."""

    ALWAYS: ClassVar[tuple[str, ...]] = ("version",)

    comparison: EnvironmentComparison
    gate: GateVerdict
    name: str = ""
    version: int = VERSION


def write_review(path: Path, review: Review) -> None:
    write_text_whole(path, json.dumps(to_record(review), indent=1) + "\n")


def _refuse(constant: str) -> float:
    # Python's parser accepts NaN and Infinity, which are not JSON and would spoil every computation.
    raise ValueError(f"{constant} is not a number")


def _of_this_version(record: object) -> object:
    """Return a review of version 1, which knew two sides, as one of this version."""
    if not isinstance(record, dict) or record.get("version") != 1 or not isinstance(record.get("comparison"), dict):
        return record
    comparison = dict(record["comparison"])
    names = [comparison.pop("base", ""), comparison.pop("branch", "")]
    return {**record, "version": VERSION, "comparison": {**comparison, "names": names}}


def read_review(path: Path) -> Review:
    """Return the review that `write_review` wrote; `path` may be its folder."""
    file = path / FILE_NAME if path.is_dir() else path
    remedy = "Write one with `photometer compare … --format github -o DIR`."
    try:
        if file.stat().st_size > MOST_BYTES:
            raise ResultsFileError(f"{file} is larger than a review can be", remedy=remedy)
        record = json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise ResultsFileError(f"{file} cannot be read: {error.strerror or error}", remedy=remedy) from error
    except (ValueError, RecursionError) as error:
        raise ResultsFileError(f"{file} is not a review: {error}", remedy=remedy) from error
    record = _of_this_version(record)
    if not isinstance(record, dict) or record.get("version") != VERSION:
        raise ResultsFileError(f"{file} is not a review of version {VERSION}", remedy=remedy)
    try:
        return from_record(Review, record)
    except PhotometerError as error:
        raise ResultsFileError(f"{file}: {error.message}", remedy=remedy) from error
