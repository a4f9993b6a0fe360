"""The magics: how a line is read, what runs, and a real notebook that uses them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
import torch
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import photometer
from photometer.errors import DefinitionError
from photometer.magics import run_magic, split_line
from photometer.model.measurement import Measurement

QUICK = "--min-run-time 0.005"


@pytest.mark.parametrize(
    ("line", "words", "code"),
    [
        ("x + 1", [], "x + 1"),
        ("-s 'x = 1' x + 1", ["-s", "x = 1"], "x + 1"),
        ("--setup=\"y = 'a'\" y", ["--setup=y = 'a'"], "y"),
        ("-t 2 --label a f('-s')", ["-t", "2", "--label", "a"], "f('-s')"),
        ("-- -x", [], "-x"),
        ("-x", [], "-x"),
        ("--device torch.ones(3)", ["--device"], "torch.ones(3)"),
        ("--ab", ["--ab"], ""),
    ],
)
def test_options_come_first_and_code_is_left_as_it_is(line: str, words: list[str], code: str) -> None:
    assert split_line(line) == (words, code)


def test_a_line_is_timed_with_the_notebooks_variables() -> None:
    m = run_magic(f"{QUICK} -s 'y = 2' --label sum x + y", None, {"x": torch.ones(3)})
    assert isinstance(m, Measurement)
    assert (m.stmt, m.setup, m.label) == ("x + y", "y = 2", "sum")


def test_memory_of_a_line() -> None:
    memory = run_magic("--memory x + x", None, {"x": torch.ones(1024)})
    assert (memory.peak_bytes, memory.allocations) == (4096, 1)


def test_a_cell_is_timed_whole() -> None:
    m = run_magic(f"{QUICK} -t 1", "for _ in range(3):\n    x.add_(1)\n", {"x": torch.ones(3)})
    assert m.stmt == "for _ in range(3):\n    x.add_(1)"


@pytest.mark.parametrize(
    ("line", "cell", "words"),
    [
        ("", None, "no code"),
        ("--nothing x", "y", "not an option"),
        ("-t many x", None, "invalid int"),
        ("--ab", "x", "does not have two parts"),
        ("--ab", "x\n# ---\n", "does not have two parts"),
        ("--ab --instructions", "x\n# ---\ny", "do not go together"),
        ("--ab --memory", "x\n# ---\ny", "do not go together"),
    ],
)
def test_what_cannot_be_meant(line: str, cell: str | None, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        run_magic(line, cell, {})


def test_parts_are_compared_and_only_what_they_name_goes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[str, ...], dict[str, Any]]] = []
    monkeypatch.setattr("photometer.comparing.statements.ab", lambda *parts, **options: calls.append((parts, options)))
    names = {"x": 1, "unused": 2, "torch": torch, "y": 3}
    run_magic("--ab -s 'y = torch.ones(2)' --budget 1 --margin 0.01 --device", "x + y\n#---\nx * y\n# -----\ny", names)
    [(parts, options)] = calls
    assert parts == ("x + y", "x * y", "y")
    assert options["globals"] == {"x": 1}
    assert (options["setup"], options["budget"], options["margin"]) == ("y = torch.ones(2)", 1.0, 0.01)
    assert options["device"] == "any"
    run_magic("--ab", "torch.ones(2)\n# ---\ntorch.zeros(2)", names)
    assert calls[1][1]["globals"] is None


def test_help_is_text_and_the_extension_is_found_by_the_packages_name() -> None:
    assert "--ab" in repr(run_magic("--help", None, {}))
    shell = InteractiveShell.instance()
    try:
        shell.run_line_magic("load_ext", "photometer")
        found = shell.run_line_magic("photometer", f"{QUICK} torch.ones(2)")
        assert isinstance(found, photometer.Measurement)
        with pytest.raises(UsageError, match="does not have two parts"):
            shell.run_cell_magic("photometer", "--ab", "1")
        with pytest.raises(AttributeError, match="nothing") as raised:
            shell.run_line_magic("photometer", "torch.nothing(1)")
        # Of the frames between IPython and the user's line none is shown.
        names = [frame.path for frame in raised.traceback]
        assert not any(str(path).endswith(("timing.py", "python_loop.py")) for path in names)
        with pytest.raises(UsageError, match=r"(?s)<stmt>.*1 \+.*SyntaxError"):
            shell.run_line_magic("photometer", "1 +")
    finally:
        InteractiveShell.clear_instance()


ERRORS = [
    ("photometer.ab('1', '2', timeout=-1)", "DefinitionError: the timeout is -1\nGive seconds, greater than 0."),
    ("photometer.ab('1', '1 +')", "SnippetError"),
    ("photometer.load('nowhere.json')", "ResultsFileError"),
    ("photometer.compare(['current', 'current'], 'no_such_suite')", "DefinitionError"),
    ("photometer.run('no_such_suite')", "DefinitionError"),
]


@pytest.mark.parametrize(("code", "words"), ERRORS)
def test_an_error_shows_the_lines_of_the_cell_and_the_message(
    code: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = InteractiveShell.instance()
    try:
        shell.run_cell(f"import photometer\ndef ask():\n    {code}  # here\nask()")
    finally:
        InteractiveShell.clear_instance()
    shown = capsys.readouterr().out
    assert words in shown
    assert shown.index("ask()") < shown.index("# here") < shown.index(words)
    # Two frames: the cell and its function.
    assert shown.partition(words)[0].count("  File ") == 2, shown
    assert "site-packages" not in shown
    assert "photometer/" not in shown


OF_STATEMENTS = [
    ("photometer.Timer('1 +')", ("1 +", "SyntaxError: invalid syntax")),
    ("photometer.Timer('1', 'x = [')", ("x = [", "SyntaxError: '[' was never closed")),
    ("photometer.Timer('1 / 0').timeit(2)", ("----> 2 1 / 0", "ZeroDivisionError")),
    ("photometer.Timer(divide, args=(1,)).blocked_autorange()", ("return 1 / 0", "ZeroDivisionError")),
]


@pytest.mark.parametrize(("code", "words"), OF_STATEMENTS)
def test_an_error_of_a_statement_shows_the_cell_and_the_statement(
    code: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    shell = InteractiveShell.instance()
    try:
        shell.run_cell(f"import photometer\ndef divide(x):\n    return 1 / 0\n{code}  # here")
    finally:
        InteractiveShell.clear_instance()
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert all(each in shown for each in ("# here", *words)), shown
    # IPython shows one of our frames before a SyntaxError, and hides it before others.
    assert shown.count("photometer/") == shown.count("user_error.py") == ("SyntaxError" in shown)
    assert "timing.py" not in shown


CELLS = [
    "%load_ext photometer\nimport torch, photometer\nx = torch.rand(64)",
    "%photometer --min-run-time 0.02 torch.add(x, 1)",
    "%%photometer -s 'y = torch.rand(8)' --min-run-time 0.02\nz = y + 1\nz * 2",
    "verdict = get_ipython().run_cell_magic('photometer', '--ab --budget 60', 'x + 1\\n# ---\\nx + 1; x + 1; x + 1')\n"
    "print(verdict)\nverdict",
    "verdict.plot()",
    "m = photometer.Timer('x + 1', globals={'x': x}).blocked_autorange(min_run_time=0.02)\n"
    "photometer.Compare([m]).to_dataframe()",
]


@pytest.mark.slow
def test_a_real_notebook(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [html_of(cell) for cell in notebook.cells]
    assert "torch.add(x, 1)" in shown[1]
    assert "median" in shown[1]
    assert "y + 1" in shown[2]
    assert re.search(r">slower<.*<svg", shown[3], re.DOTALL)
    printed = "".join(output["text"] for output in notebook.cells[3].outputs if output.output_type == "stream")
    assert printed.startswith("slower: +")
    assert len(printed.strip().splitlines()) == 2
    assert "<svg" in shown[4]
    assert "seconds" in shown[5]
    for text in shown:
        assert "<script" not in text


def html_of(cell: Any) -> str:
    return "".join(output.data.get("text/html", "") for output in cell.outputs if "data" in output)
