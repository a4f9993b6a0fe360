"""Annotations: remarks on the lines of a pull request's files, as commands that GitHub's runner reads in the output.

In: a Review. Out: lines such as `::error file=src/model.py,line=41,title=block::…`. Text from elsewhere cannot
start a command: line ends and special characters are escaped as the runner expects.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

from photometer.analysis.cause import code_words
from photometer.analysis.comparison_result import ComparisonResult
from photometer.ci.review import Review
from photometer.model.units import change
from photometer.model.visible_text import visible_line

Level = Literal["error", "warning", "notice"]
# The runner shows at most this many per level and step, and silently drops the others.
MOST_PER_LEVEL = 10
# Where packages are in a repository, relative to its root.
SOURCE_FOLDERS = ("", "src", "lib", "python")


@dataclasses.dataclass(frozen=True)
class Annotation:
    """A remark. Without a file it is shown only on the run."""

    level: Level
    title: str
    message: str
    file: str = ""
    line: int = 0

    def command(self) -> str:
        """Return the line that makes the runner show it."""
        place = f"file={_property(self.file)}," if self.file else ""
        place += f"line={self.line}," if self.file and self.line else ""
        return f"::{self.level} {place}title={_property(self.title)}::{_data(self.message)}"


def annotations_of(review: Review, root: Path) -> tuple[Annotation, ...]:
    """Return remarks on functions that grew, in files of the repository at `root`; failures come first."""
    found: list[Annotation] = []
    comparison = review.comparison.titled_by_side()
    for result in comparison.by_importance:
        found += _of_result(result, review, root)
    found += [Annotation("error", f"{each.title} failed", each.message) for each in comparison.failures]
    found += [Annotation("error", "photometer", f"could not be judged: {each}") for each in review.gate.unjudged]
    return tuple(_limited(found))


def _of_result(result: ComparisonResult, review: Review, root: Path) -> Iterator[Annotation]:
    breaches = review.gate.of(result.order_id, result.side)
    memory = result.memory.sentence if result.memory is not None else ""
    grew = result.instructions is not None and result.instructions.has_changed and result.instructions.ratio > 1.0
    if not breaches and not (result.verdict == "slower" or (result.accepted and grew)):
        return
    level: Level = "error" if breaches else "notice" if result.accepted else "warning"
    sentences = "; ".join(each.sentence for each in breaches)
    title = f"{result.title}: {sentences or f'{result.verdict}, {change(result.ratio)}'}"
    title = f"{result.title}: accepted" if result.accepted else title
    code = () if result.instructions is None else result.instructions.code
    places = [each for each in code if each.instructions_per_run > 0]
    rest = [f"accepted: {result.accepted}"] if result.accepted else []
    rest += [memory] if memory else []
    shown = False
    for place in places:
        file = repository_file(place.file, root)
        if file:
            shown = True
            yield Annotation(level, title, "; ".join([code_words(place), *rest]), file, place.line)
    if not shown:
        yield Annotation(level, title, "; ".join([result.cause or sentences or result.judged.reason, *rest]))


def repository_file(file: str, root: Path) -> str:
    """Return the path of a file, known by its import path, relative to the repository's root; empty if it is not there.

    Causes name files as they are imported (`tinynet/model.py`); these may be in src/.
    """
    name = PurePosixPath(file)
    if not file or name.is_absolute() or ".." in name.parts:
        return ""
    for folder in SOURCE_FOLDERS:
        if (root / folder / name).is_file():
            return str(PurePosixPath(folder) / name)
    return ""


def _limited(annotations: Sequence[Annotation]) -> Iterator[Annotation]:
    levels: tuple[Level, ...] = ("error", "warning", "notice")
    for level in levels:
        of_level = [each for each in annotations if each.level == level]
        if len(of_level) > MOST_PER_LEVEL:
            kept = MOST_PER_LEVEL - 1
            yield from of_level[:kept]
            yield Annotation(level, "photometer", f"{len(of_level) - kept} more are in the summary of this run")
        else:
            yield from of_level


def _data(text: str) -> str:
    # `visible_line` leaves no line end; the runner would decode %0A as one, so the per cent sign goes first.
    return visible_line(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
