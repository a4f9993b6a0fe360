"""Files for CI systems: remarks on lines, labels that cannot begin a command, JUnit's XML, and OpenMetrics."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from photometer.analysis.changed_code import ChangedCode
from photometer.analysis.comparison_result import ComparisonFailure, ComparisonSkip
from photometer.ci.report_files import (
    MOST_PER_LEVEL,
    Annotation,
    annotations_of,
    render_junit,
    render_open_metrics,
    repository_file,
)
from photometer.cli.ci_output import commands_held
from tests.analysis.verdicts import result
from tests.ci.reviews import HOSTILE, everything, many_sides, more_instructions, review


def test_metrics_are_one_line_per_figure() -> None:
    lines = render_open_metrics(everything().comparison).splitlines()
    assert lines[-1] == "# EOF"
    line = re.compile(r'photometer_[a-z_]+\{benchmark="(?:[^"\\\n]|\\\\|\\")*"\} [-+0-9.e]+')
    assert all(each.startswith("# TYPE photometer_") or line.fullmatch(each) for each in lines[:-1])
    assert 'photometer_seconds{benchmark="add"} 1.1e-06' in lines
    assert 'photometer_instructions{benchmark="add"} 1100' in lines


def test_every_side_has_lines_of_its_own() -> None:
    lines = render_open_metrics(many_sides().comparison).splitlines()
    assert 'photometer_seconds{benchmark="add on b"} 1e-06' in lines
    assert sum(line.startswith("photometer_seconds{") for line in lines) == 2


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


def test_what_skips_itself_is_skipped_with_its_reason() -> None:
    skips = (ComparisonSkip("new", "new", "base", "only in the new version", place=0),)
    (suite,) = ElementTree.fromstring(render_junit(review(result("same"), skips=skips)))
    assert (suite.get("errors"), suite.get("skipped")) == ("0", "1")
    (found,) = suite.iter("skipped")
    assert found.get("message") == "skipped on the base side: only in the new version"


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


def place(file: str, line: int = 12, change: float = 120.0) -> ChangedCode:
    return ChangedCode("Block.gate", file, line, change, more=("contiguous",))


def test_a_function_that_grew_has_a_remark_on_its_line(tmp_path: Path) -> None:
    (tmp_path / "src" / "net").mkdir(parents=True)
    (tmp_path / "src" / "net" / "model.py").touch()
    change = more_instructions(0.1, place("net/model.py"), place("net/gone.py"), place("net/model.py", 20, -90.0))
    (found,) = annotations_of(review(result("slower", 1.1, instructions=change)), tmp_path)
    assert (found.level, found.file, found.line) == ("error", "src/net/model.py", 12)
    assert found.command() == (
        "::error file=src/net/model.py,line=12,title=add%3A slower by 10 %25::"
        "new under Block.gate (net/model.py:12): contiguous (+120)"
    )


def test_levels(tmp_path: Path) -> None:
    change = more_instructions(0.1)

    def level(*arguments: str, fail_on: str = "slower", **changes: object) -> list[str]:
        made = review(result("slower", 1.03, instructions=change, **changes), fail_on=fail_on)  # type: ignore[arg-type]
        return [each.level for each in annotations_of(made, tmp_path)]

    assert level() == ["error"]
    assert level(fail_on="slower:5%") == ["warning"]
    assert level(accepted="known") == ["notice"]
    assert annotations_of(review(result("faster", 0.9), result("identical")), tmp_path) == ()


def test_a_remark_on_one_of_many_sides_names_it(tmp_path: Path) -> None:
    made = review(
        result("slower", 1.1, side=2),
        result("slower", 1.02, side=1),
        names=("v1", "v2", "v3"),
        failures=(ComparisonFailure("id", "div", "v2", "ValueError", place=1),),
        fail_on="slower:5%",
    )
    first, failed, allowed = annotations_of(made, tmp_path)
    assert first.title.startswith("add on v3: ")
    assert first.title.endswith("slower by 10 %, more than the 5 % allowed")
    assert (failed.title, allowed.title) == ("div on v2 failed", "add on v2: slower, +2.0 %")
    assert [each.level for each in (first, failed, allowed)] == ["error", "error", "warning"]


def test_a_file_elsewhere_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    assert repository_file("a.py", tmp_path) == "a.py"
    for outside in ("/etc/passwd", "../a.py", "", "b.py"):
        assert repository_file(outside, tmp_path / "x" if outside == "../a.py" else tmp_path) == ""


def test_labels_begin_no_command() -> None:
    text = Annotation("error", HOSTILE, HOSTILE, HOSTILE, 1).command()
    assert "\n" not in text
    assert "\r" not in text
    properties = text.removeprefix("::error ").split("::")[0]
    assert properties.count(",") == 2
    # The runner decodes %0A; what users wrote is not decoded.
    assert "%0A" not in text
    assert "%250A" in text


def test_more_than_the_runner_shows_are_counted(tmp_path: Path) -> None:
    found = annotations_of(review(*(result("slower", 1.1, f"add {n}") for n in range(25))), tmp_path)
    assert len(found) == MOST_PER_LEVEL
    assert "16 more" in found[-1].message


def test_the_runner_obeys_nothing_of_what_is_printed_meanwhile(capsys: pytest.CaptureFixture[str]) -> None:
    with commands_held({}):
        pass
    assert capsys.readouterr().err == ""
    with pytest.raises(KeyError), commands_held({"GITHUB_ACTIONS": "true"}):
        raise KeyError
    stop, go = capsys.readouterr().err.splitlines()
    word = stop.removeprefix("::stop-commands::")
    assert len(word) == 32
    assert go == f"::{word}::"
