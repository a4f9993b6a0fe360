"""Suites from files, modules and by name; and the error if there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from photometer.definition import load_suite, shipped_suites
from photometer.errors import DefinitionError

IMPORT = "from photometer.definition import *\n"


def write(folder: Path, text: str, name: str = "my_suite.py") -> str:
    path = folder / name
    path.write_text(IMPORT + text)
    return str(path)


def test_a_file_with_benchmarks(tmp_path: Path) -> None:
    suite = load_suite(write(tmp_path, 'BENCHMARKS = {"a": {"b": GroupedStmts("x = 1")}}'))
    assert suite.name == "my_suite"
    assert [entry.label for entry in suite.entries] == [("a", "b")]


def test_a_variable_of_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'OTHER = {"c": TimerArgs("x = 1")}')
    assert load_suite(f"{path}:OTHER").entries[0].label == ("c",)


def test_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 'MINE = {"c": TimerArgs("x = 1")}', "a_module_of_the_tests.py")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_suite("a_module_of_the_tests:MINE").entries[0].label == ("c",)


def test_a_suite_object_is_taken_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path, 'BENCHMARKS = Suite.from_benchmarks({"c": TimerArgs("x = 1")}, name="own")')
    assert load_suite(path).name == "own"


def test_a_shipped_suite() -> None:
    assert "standard" in shipped_suites()
    assert load_suite("standard").name == "standard"


def test_two_files_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first = write(tmp_path / "one", 'BENCHMARKS = {"1": TimerArgs("x = 1")}')
    second = write(tmp_path / "two", 'BENCHMARKS = {"2": TimerArgs("x = 1")}')
    assert [load_suite(path).entries[0].label for path in (first, second)] == [("1",), ("2",)]


def test_a_suite_may_import_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path, 'SETUP = GroupedSetup("x = 1")', "neighbour_of_the_suite.py")
    text = 'from neighbour_of_the_suite import SETUP\nBENCHMARKS = {"a": GroupedStmts("x", setup=SETUP)}'
    before = list(sys.path)
    assert len(load_suite(write(tmp_path, text)).entries) == 1
    assert sys.path == before


def test_a_label_twice_in_a_dict_is_found_in_the_text(tmp_path: Path) -> None:
    text = (
        'BENCHMARKS = {\n    ("a", "b"): TimerArgs("x = 1"),\n    "c": TimerArgs("x"),\n    "c": TimerArgs("y"),\n}\n'
    )
    with pytest.raises(DefinitionError, match=r"my_suite.py:5: the label 'c' appears twice") as caught:
        load_suite(write(tmp_path, text))
    rows = str(caught.value.log).splitlines()
    caret = next(number for number, row in enumerate(rows) if "^" in row)
    assert rows[caret - 1][rows[caret].index("^") :].startswith('"c": TimerArgs("y")')


def test_an_error_in_a_definition_names_the_suites_line(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"^my_suite.py:3: torchscript=True without a signature"):
        load_suite(write(tmp_path, 'X = 1\nBENCHMARKS = {"a": GroupedStmts("x = 1", torchscript=True)}'))


def test_an_exception_in_the_file_is_shown_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="ZeroDivisionError") as caught:
        load_suite(write(tmp_path, "BENCHMARKS = {}\nBENCHMARKS['a'] = 1 / 0\n"))
    log = str(caught.value.log)
    assert "BENCHMARKS['a'] = 1 / 0" in log
    assert "importlib" not in log


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no_such_suite", "no suite called 'no_such_suite'"),
        ("missing.py", "no file missing.py"),
        ("no_such_package.module:X", "there is no module no_such_package.module"),
        ("json:NOTHING", "json:NOTHING has no NOTHING"),
        ("json:dumps", "of type function"),
    ],
)
def test_what_is_not_a_suite(spec: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        load_suite(spec)
    assert caught.value.remedy


def test_an_empty_suite(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="is empty"):
        load_suite(write(tmp_path, "BENCHMARKS = {}"))


def test_loading_leaves_no_bytecode_beside_the_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "beside.py").write_text("NAME = 'x'\n")
    (tmp_path / "suite.py").write_text(
        "import beside\nfrom photometer import GroupedStmts\nBENCHMARKS = {beside.NAME: GroupedStmts(py_stmt='pass')}\n"
    )
    load_suite(str(tmp_path / "suite.py"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beside.py", "suite.py"]
    assert not sys.dont_write_bytecode


def test_a_missing_module_says_where_it_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text("import not_installed_anywhere\n")
    for spec in (str(tmp_path / "suite.py"), "not_installed_anywhere.suite:NAME"):
        with pytest.raises(DefinitionError) as told:
            load_suite(spec)
        assert "searched in: " in str(told.value)
        assert "PYTHONPATH" in str(told.value)
