"""A comparison as JUnit XML, which most CI systems show: one test case per benchmark.

A benchmark that breaks a rule is a failure, one that could not run an error, one that was not reached is skipped.
The time of a test case is that of one run on the branch's side.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from photometer.analysis.comparison_result import ComparisonResult
from photometer.ci.gate import Breach
from photometer.ci.review import Review
from photometer.model.visible_text import visible
from photometer.report.verdict_text import change_text, detail_lines, interval_text

# Characters that XML 1.0 cannot represent, beyond those that `visible` escapes.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def render_junit(review: Review) -> str:
    """Return the document."""
    comparison = review.comparison
    suite = ElementTree.Element("testsuite", name=_plain(f"photometer {comparison.suite}".strip()))
    failed = 0
    for result in comparison.by_importance:
        breaches = review.gate.of(result.order_id)
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
        _element(case, "skipped", message="not reached within the budget")
    errors = len(comparison.failures) + len(review.gate.unjudged)
    counts = {
        "tests": len(suite),
        "failures": failed,
        "errors": errors,
        "skipped": len(comparison.not_reached),
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
    figures = f"{result.verdict}, {change_text(result.ratio)} ({interval_text(result.interval)})"
    lines = [figures if result.judged.replicates else result.verdict, *detail_lines(result)]
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
