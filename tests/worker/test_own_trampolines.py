"""Trampolines of the worker's own, in a process of their own: they change how the interpreter evaluates frames."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from photometer.worker import own_trampolines

PROGRAM = """
import json, sys
from {module} import make_trampolines

def leaf(n): return n + 1
def add(n): return sum(leaf(i) for i in range(n))
def run(number):
    for _ in range(number): add(3)

made = make_trampolines(run, 2)
assert made is not None
results = [add(4), run(3)]
def unseen(n): return [add(n), leaf(n)]
results.append(unseen(2))
try:
    leaf(None)
except TypeError as error:
    results.append(str(error)[:11])
def endless(n): return endless(n + 1)
try:
    endless(0)
except RecursionError:
    results.append("recursion")
made.remove()
results.append(add(2))
print(json.dumps([results, json.loads(made.map_text())]))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the machine code is for x86-64")
def test_calls_go_on_as_before_and_every_path_has_an_address(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(module=own_trampolines.__name__))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results, tree = json.loads(done.stdout)
    assert results == [10, None, [3, 3], "unsupported", "recursion", 3]
    names = [path["function"].rpartition(".")[2] for path in tree["paths"]]
    assert names == ["run", "add", "<genexpr>", "leaf"]
    addresses = [path["address"] for path in tree["paths"]]
    assert [path["parent"] for path in tree["paths"][1:]] == addresses[:-1]
    assert tree["runs"] == 2
    assert {tuple(call) for call in tree["paths"][1]["calls"]} >= {("sum", 6, 2)}
    assert tree["paths"][0]["file"] == "program.py"


def test_files_are_named_below_where_they_were_imported_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/a/checkout/src", "/a/checkout"])
    assert own_trampolines.shown_file("/a/checkout/src/net/model.py") == "net/model.py"
    assert own_trampolines.shown_file(json.__file__).startswith("python3.")
    assert own_trampolines.shown_file("<string>") == "<string>"


def test_an_endless_tree_of_calls_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def deeper(n: int) -> int:
        return n if n == 0 else deeper(n - 1)

    monkeypatch.setattr(own_trampolines, "MOST_PATHS", 20)
    with pytest.raises(own_trampolines.TooManyPaths):
        own_trampolines.CallPaths().watch(deeper, 50)
    assert sys.getprofile() is None
