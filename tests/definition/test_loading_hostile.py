"""Suites that misbehave while they are loaded: a clear error with the file and the line, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from photometer.definition import TimerArgs, load_suite
from photometer.definition.suite import MOST_LEVELS, flatten
from photometer.errors import DefinitionError

HEAD = "from photometer.definition import *\nONE = TimerArgs('x = 1')\n"


def write(folder: Path, text: str | bytes, name: str = "my_suite.py") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else (HEAD + text).encode("utf-8", "surrogatepass"))
    return str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise SystemExit(0)", r"my_suite.py:3: the suite ends the program while it is loaded \(SystemExit: 0\)"),
        ("import sys\nsys.exit()", r"my_suite.py:4: the suite ends the program while it is loaded \(SystemExit\)"),
        ("raise GeneratorExit", r"my_suite.py:3: raised while the suite was loaded: GeneratorExit"),
        ("class Odd(BaseException): pass\nraise Odd(1)", r"my_suite.py:4: raised .* loaded: (\S+\.)?Odd: 1"),
        (
            "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd",
            r"my_suite.py:5: raised while the suite was loaded: (\S+\.)?Odd: <exception str\(\) failed>",
        ),
        ("import json\njson.loads('{')", r"decoder.py:\d+: raised while the suite was loaded: json\S+JSONDecodeError"),
        ("X = 1 +", r"my_suite.py:3: raised while the suite was loaded: SyntaxError: invalid syntax"),
        ("X = " + "(" * 300, r"my_suite.py:3: raised while the suite was loaded: SyntaxError: too many nested paren"),
        ("def f(): f()\nf()", r"my_suite.py:3: raised while the suite was loaded: RecursionError"),
        ("X = input()", r"my_suite.py:3: the suite reads standard input while it is loaded"),
        ("import sys\nX = sys.stdin.read()", r"my_suite.py:4: the suite reads standard input"),
        ("import sys\nX = list(sys.stdin)", r"my_suite.py:4: the suite reads standard input"),
        ("import sys\nX = sys.stdin.buffer.read()", r"my_suite.py:4: the suite reads standard input"),
        ("X = GroupedStmts(1, 2, 3, 4)", r"my_suite.py:3: "),
        ("X = TimerArgs('x\\0')", r"my_suite.py:3: stmt is not Python: "),
        ("X = TimerArgs('\\ud800')", r"my_suite.py:3: stmt is not Python: "),
        ("X = TimerArgs('(' * 9999)", r"my_suite.py:3: stmt is not Python: "),
    ],
)
def test_what_a_suite_may_do_while_it_is_loaded(tmp_path: Path, text: str, message: str) -> None:
    stdin, modules = sys.stdin, set(sys.modules)
    with pytest.raises(DefinitionError, match=f"^{message}") as caught:
        load_suite(write(tmp_path, text + "\nBENCHMARKS = {'a': ONE}\n"))
    assert caught.value.remedy
    assert sys.stdin is stdin
    assert not [name for name in set(sys.modules) - modules if name.startswith("photometer_suite")]


def test_ctrl_c_is_not_an_error_of_the_suite(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_suite(write(tmp_path, "raise KeyboardInterrupt"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# fine\nX = '\xe4'\n", r"my_suite.py:2: is not UTF-8 text"),
        (b"\n" * 9 + b"# \xff\n", r"my_suite.py:10: is not UTF-8 text"),
        (b"# -*- coding: ascii -*-\n\n# \xe4\n", r"my_suite.py:3: is not ASCII text"),
        (b"# -*- coding: no-such -*-\n", r"my_suite.py:1: is not UTF-8 text"),
        ("X = 1\n".encode("utf-16"), r"my_suite.py:1: is not UTF-8 text"),
        (b"X = 1\nY = '\0'\n", r"my_suite.py:2: holds a NUL character"),
    ],
)
def test_files_that_python_cannot_read(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DefinitionError, match=f"^{message}") as caught:
        load_suite(write(tmp_path, content))
    assert caught.value.remedy


def test_a_file_that_names_its_encoding(tmp_path: Path) -> None:
    text = "# -*- coding: latin-1 -*-\n" + HEAD + "BENCHMARKS = {'\xe4': ONE}\n"
    assert load_suite(write(tmp_path, text.encode("latin-1"))).entries[0].label == ("\xe4",)


def test_a_broken_module_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "a_package_of_the_tests"
    package.mkdir()
    (package / "__init__.py").write_text("X = 1\nraise SystemExit(0)\n")
    (package / "suite.py").write_text("BENCHMARKS = {}\n")
    (tmp_path / "needs_more.py").write_text("\nimport not_installed_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DefinitionError, match=r"^__init__.py:2: the suite ends the program"):
        load_suite("a_package_of_the_tests.suite")
    with pytest.raises(DefinitionError, match=r"^needs_more.py:2: raised .*No module named 'not_installed_anywhere'"):
        load_suite("needs_more:BENCHMARKS")


CYCLE = "INNER = {'one': ONE}\nINNER['again'] = INNER\nBENCHMARKS = {\n'a': INNER}\n"
DEEP = "TREE = {'leaf': ONE}\nfor _ in range(5000):\n    TREE = {'x': TREE}\nBENCHMARKS = TREE\n"
ODD = (
    "class Odd(dict):\n    def items(self):\n        raise RuntimeError('no items')\n"
    "class Mute:\n    def __repr__(self):\n        raise ValueError\n"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CYCLE, r"my_suite.py:5: the dict at a › again contains itself"),
        ("BENCHMARKS = {}\nBENCHMARKS['a'] = BENCHMARKS\n", r"my_suite.py:4: the dict at a contains itself"),
        (DEEP, rf"my_suite.py:6: the dicts at x( › x)+ › … are nested more than {MOST_LEVELS} deep"),
        (DEEP.replace("'x'", "None"), rf"my_suite.py:6: the dicts at the top are nested more than {MOST_LEVELS} deep"),
        (ODD + "BENCHMARKS = {'a': Odd()}\n", r"my_suite.py:5: raised while .* RuntimeError: no items"),
        (ODD + "BENCHMARKS = {'a': Mute()}\n", r"my_suite.py:9: a is <Mute instance at 0x\w+>, not a benchmark"),
        ("BENCHMARKS: dict = {'a': 3}\n", r"my_suite.py:3: a is 3, not a benchmark"),
        ("BENCHMARKS = {3: ONE}\n", r"my_suite.py:3: below the top there is the label 3"),
    ],
)
def test_dicts_that_are_no_tree(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=f"^{message}"):
        load_suite(write(tmp_path, text))


def test_one_dict_in_two_places_is_no_cycle() -> None:
    shared = {"one": TimerArgs("x = 1")}
    assert set(flatten({"a": shared, "b": shared})) == {("a", "one"), ("b", "one")}


def test_what_is_named_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "notes.txt").touch()
    os.mkfifo(tmp_path / "pipe.py")
    for spec, message in {
        ".": r"^\. is a folder, not a suite\nName a file in it: folder.py, my_suite.py, pipe.py",
        str(tmp_path): r"is a folder, not a suite",
        "./folder": r"^\./folder is a folder, not a suite\nName a file with BENCHMARKS",
        "folder": r"^folder is a folder, not a suite",
        "./notes.txt": r"^\./notes.txt is not a Python file",
        "folder.py": r"^there is no file folder.py",
        "pipe.py": r"^there is no file pipe.py",
        "..": r"is a folder, not a suite",
        "": r"^there is no suite called ''",
        "a..b": r"^there is no suite called 'a..b'",
        "x" * 5000 + ".py": r"^there is no file xxx",
        "x" * 5000: r"^there is no suite called 'xxx",
        "a\0.py": r"^there is no file a",
        "a\0b.c": r"^there is no suite called",
    }.items():
        with pytest.raises(DefinitionError, match=message):
            load_suite(spec)


def test_what_a_suite_prints_does_not_mix_with_our_output(tmp_path: Path) -> None:
    path = write(tmp_path, "print('hello')\nBENCHMARKS = {'a': ONE}\n")
    script = "import sys; from photometer.definition import load_suite; print(load_suite(sys.argv[1]).name)"
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout == "my_suite\n"
    assert done.stderr == "hello\n"
