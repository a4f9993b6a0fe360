"""The tests that docs/pytest.md shows run as they stand there, and the table that it shows is like theirs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from photometer.pytest_plugin.options import add_options
from tests.guards.sources import ROOT, shown_files
from tests.pytest_plugin.nested_session import run_nested

pytestmark = pytest.mark.lengthy

PATH = ROOT / "docs" / "pytest.md"
PAGE = PATH.read_text()


def test_the_shown_tests_pass_and_make_the_table(tmp_path: Path) -> None:
    shown = shown_files(PATH)
    assert set(shown) == {"test_speed.py", "test_choice.py"}
    done = run_nested(tmp_path, shown["test_speed.py"], "--photometer-min-time=0.01")
    assert done.outcomes == dict.fromkeys(("test_sum", "test_product[16]", "test_product[128]"), "passed"), done.texts
    heads = re.findall(r"^ +benchmark +median.*$", PAGE, re.MULTILINE)
    assert heads
    for word in ("benchmark", "median", "95 % interval", "fastest", "blocks × runs"):
        assert word in heads[0]
        assert word in done.output
    assert "products" in done.output
    choice = run_nested(tmp_path, shown["test_choice.py"])
    assert choice.outcomes == {"test_view_is_not_slower": "passed"}, choice.texts


def test_every_option_is_in_the_page() -> None:
    class Options:
        def __init__(self) -> None:
            self.names: list[str] = []

        def getgroup(self, *words: str) -> Options:
            return self

        def addoption(self, name: str, **about: object) -> None:
            self.names.append(name)

    options = Options()
    add_options(options)  # type: ignore[arg-type]
    own = [name for name in options.names if name.startswith("--photometer-")]
    assert len(own) > 8
    assert [name for name in own if name not in PAGE] == []
