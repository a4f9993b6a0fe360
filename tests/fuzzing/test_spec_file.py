"""A fuzzer in a file of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.errors import DefinitionError
from photometer.fuzzing.spec_file import load_fuzzer, rebuild_line

TEXT = """
from sizes import LARGEST
from photometer.fuzzing import FuzzedParameter, FuzzedTensor, Fuzzer
N = FuzzedParameter("n", 1, LARGEST, "uniform")
FUZZER = Fuzzer([N], [FuzzedTensor("x", ("n",))], [lambda p: p["n"] % 2], seed=3)
"""


def test_the_file_and_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "sizes.py").write_text("LARGEST = 99\n")
    path = tmp_path / "spec.py"
    path.write_text(TEXT)
    assert load_fuzzer(path).seed == 3
    fuzzer = load_fuzzer(path, seed=8)
    assert fuzzer.seed == 8
    namespace: dict[str, object] = {}
    exec(rebuild_line(path, 8, 4), namespace)
    assert namespace["params"] == list(fuzzer.take_params(5))[4]


@pytest.mark.parametrize(
    ("text", "message"),
    [("1 / 0", "line 1"), ("FUZZER = 4", "int"), ("", "does not assign"), ("import nowhere_at_all", "nowhere")],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "spec.py"
    path.write_text(text)
    with pytest.raises(DefinitionError, match=message):
        load_fuzzer(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\nraise SystemExit(0)\n", r"^spec.py:2: the fuzzer ends the program while it is loaded \(SystemExit: 0\)"),
        (b"\n\nX = input()\n", r"^spec.py:3: the fuzzer reads standard input while it is loaded"),
        (b"\n# \xe4\n", r"^spec.py:2: is not UTF-8 text"),
        (b"X = 1 +\n", r"^spec.py:1: raised while the fuzzer was loaded: SyntaxError"),
    ],
)
def test_a_file_that_misbehaves_names_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "spec.py"
    path.write_bytes(content)
    with pytest.raises(DefinitionError, match=message):
        load_fuzzer(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="no file"):
        load_fuzzer(tmp_path / "spec.py")
