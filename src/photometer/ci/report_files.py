"""A comparison as files that CI systems show: JUnit XML for most, OpenMetrics text for GitLab's metrics report.

JUnit: one test case per benchmark, whose time is that of one run on the branch's side. A broken rule is a failure, a
benchmark that could not run is an error, one that was not reached, or skips itself, is skipped. OpenMetrics: one line
per benchmark and figure of the branch; GitLab keeps the file of every pipeline and shows in a merge request which
figures differ. For GitHub there are annotations: remarks on the lines of a pull request's files, as commands that its
runner reads.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal
from xml.etree import ElementTree

from photometer.analysis.cause import code_words
from photometer.analysis.comparison_result import NOT_REACHED, ComparisonResult, EnvironmentComparison
from photometer.analysis.gate import Breach
from photometer.ci.review import Review
from photometer.model.units import change, span
from photometer.model.visible_text import visible, visible_line
from photometer.report.verdict_text import detail_lines

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


# Characters that XML 1.0 cannot represent, beyond those that `visible` escapes.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def render_junit(review: Review) -> str:
    """Return the document."""
    comparison = review.comparison.titled_by_side()
    suite = ElementTree.Element("testsuite", name=_plain(f"photometer {comparison.suite}".strip()))
    failed = 0
    for result in comparison.by_importance:
        breaches = review.gate.of(result.order_id, result.side)
        failed += bool(breaches)
        _case(suite, comparison.suite, result, breaches)
    for failure in comparison.failures:
        case = _element(suite, "testcase", classname=comparison.suite, name=failure.title)
        side = f" on the {failure.side} side" if failure.side else ""
        _element(case, "error", message=f"failed{side}: {failure.message}", type="failed").text = _plain(failure.log)
    for reason in review.gate.unjudged:
        case = _element(suite, "testcase", classname=comparison.suite, name="gate")
        _element(case, "error", message=reason, type="unjudged")
    for title in comparison.not_reached:
        case = _element(suite, "testcase", classname=comparison.suite, name=title)
        _element(case, "skipped", message=NOT_REACHED)
    for skip in comparison.skips:
        case = _element(suite, "testcase", classname=comparison.suite, name=skip.title)
        side = f" on the {skip.side} side" if skip.side else ""
        _element(case, "skipped", message=f"skipped{side}: {skip.message}")
    errors = len(comparison.failures) + len(review.gate.unjudged)
    counts = {
        "tests": len(suite),
        "failures": failed,
        "errors": errors,
        "skipped": len(comparison.not_reached) + len(comparison.skips),
    }
    for name, count in counts.items():
        suite.set(name, str(count))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, name: str, result: ComparisonResult, breaches: Sequence[Breach]) -> None:
    seconds = result.judged.base_seconds + result.difference_seconds
    case = _element(suite, "testcase", classname=name, name=result.title, time=f"{max(seconds, 0.0):.9f}")
    figures = f"{result.judged.words}, {change(result.ratio)} ({span(result.interval)})"
    lines = [figures if result.judged.has_change else result.judged.words, *detail_lines(result)]
    if breaches:
        # One element: some readers show only the first.
        message, rules = "; ".join(each.sentence for each in breaches), ", ".join(each.rule for each in breaches)
        _element(case, "failure", message=message, type=rules).text = _plain("\n".join(lines))
    else:
        _element(case, "system-out").text = _plain("\n".join(lines))


def _element(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, {name: _plain(value) for name, value in attributes.items()})


def _plain(text: str) -> str:
    return _NOT_XML.sub("?", visible(text))


def render_open_metrics(comparison: EnvironmentComparison) -> str:
    """Return the text; figures that were not measured are left out."""
    by_name: dict[str, list[str]] = {}
    for result in comparison.titled_by_side().results:
        label = visible_line(result.title).replace("\\", "\\\\").replace('"', '\\"')
        for name, value in _figures(result):
            by_name.setdefault(name, []).append(f'{name}{{benchmark="{label}"}} {value:.10g}')
    lines = [line for name, lines in by_name.items() for line in (f"# TYPE {name} gauge", *lines)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _figures(result: ComparisonResult) -> Iterator[tuple[str, float]]:
    if result.judged.replicates:
        yield "photometer_time_ratio", result.ratio
        yield "photometer_seconds", result.judged.base_seconds + result.difference_seconds
    if result.instructions is not None:
        yield "photometer_instructions", result.instructions.branch_per_run
    if result.memory is not None:
        yield "photometer_peak_bytes", result.memory.branch.peak_bytes
        yield "photometer_allocated_bytes", result.memory.branch.allocated_bytes
