"""Remarks on the lines of functions that grew, and labels that cannot begin a command of the runner."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.analysis.changed_code import ChangedCode
from photometer.analysis.comparison_result import ComparisonFailure
from photometer.ci.report_files import MOST_PER_LEVEL, Annotation, annotations_of, repository_file
from photometer.cli.ci_output import commands_held
from tests.analysis.verdicts import result
from tests.ci.reviews import HOSTILE, more_instructions, review


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
