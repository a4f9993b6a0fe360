"""`photometer list` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from photometer.cli import main
from tests.photometer_command import photometer


def test_the_tree_has_labels_and_numbers() -> None:
    done = photometer("list", "standard")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("standard  168 variants, fingerprint ")
    assert any(line.endswith("training  32") for line in lines)
    # A label in brackets is a label, not markup.
    assert any(line.endswith("[...]  2") for line in lines)


def test_suites_by_the_option_are_those_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for words in (
        ["overrides", "standard"],
        ["overrides", "--suite", "standard"],
        ["--suite=overrides", "--suite=standard"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["list", *words])
        assert ended.value.code == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] == shown[2] != ""


def test_variants_of_a_selection() -> None:
    done = photometer("list", "standard", "-k", "Linear and torchscript", "--variants")
    assert done.stdout.splitlines()[0].startswith("standard  2 variants")
    assert "torchscript, forward, cpp, 1, cpu" in done.stdout


def test_json_has_the_code_of_every_order() -> None:
    done = photometer("list", "standard", "--tag", "quick", "--json")
    orders = [json.loads(line) for line in done.stdout.splitlines()]
    assert all("quick" in order["tags"] for order in orders)
    assert {order["args"]["language"] for order in orders} == {"python", "cpp"}


def test_nothing_selected_has_its_own_exit_code() -> None:
    done = photometer("list", "standard", "-k", "no_such_label")
    assert done.returncode == 5
    assert "nothing is selected" in done.stderr


def test_a_mistake_in_a_suite_is_shown_without_a_traceback(tmp_path: Path) -> None:
    suite = tmp_path / "wrong.py"
    suite.write_text(
        "from photometer.definition import GroupedStmts\n"
        'BENCHMARKS = {"a": GroupedStmts("y = x", signature="f(x -> y")}\n'
    )
    done = photometer("list", str(suite))
    assert done.returncode == 1
    assert "wrong.py:2: the signature does not parse" in done.stderr
    assert "^" in done.stderr
    assert "Traceback" not in done.stderr
