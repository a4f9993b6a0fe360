"""JUnit's XML, read back by a real parser, hostile labels included."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from photometer.ci.report_files import render_junit
from tests.ci.reviews import everything, many_sides


def test_one_test_case_per_benchmark() -> None:
    root = ElementTree.fromstring(render_junit(everything()))
    (suite,) = root
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    slower = next(case for case in suite if case.get("name") == "add")
    failure = slower.find("failure")
    assert failure is not None
    assert failure.get("message") == "slower by 10 %; 10 % more instructions, more than the 1 % allowed"
    assert failure.get("type") == "slower, instructions:1%"
    assert "more instructions" in (failure.text or "")
    assert float(slower.get("time") or 0) == pytest.approx(1.1e-6)
    assert [case.find("error") is not None for case in suite].count(True) == 1


def test_every_side_is_an_entry_of_its_own() -> None:
    (suite,) = ElementTree.fromstring(render_junit(many_sides()))
    first, second, failed, missing = suite
    assert second.get("name") == "add on b"
    assert second.find("failure") is None
    assert (first.get("name") or "").startswith("add on <script>")
    failure = first.find("failure")
    assert failure is not None
    assert (failure.get("message") or "").endswith(": slower by 10 %")
    assert (failed.get("name"), missing.get("name")) == ("div on b", "sub on b")
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]
