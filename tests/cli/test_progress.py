"""What is shown while a suite runs: the first rows as they become final, and nothing twice in a log."""

from __future__ import annotations

import io
import re
import sys

import pytest
from rich.console import Console
from rich.progress import Progress

from photometer.cli.progress import FIRST_ROWS, RunBar, RunLines, busy_lines, one_phase, run_bar
from photometer.execution.observer import NodeState, RunState


def test_the_first_rows_are_printed_as_they_become_final() -> None:
    screen = io.StringIO()
    with Progress(console=Console(file=screen, width=80)) as progress:
        bar = RunBar(progress, progress.add_task("suite", left="", failed="", now=""), "suite")
        for number in range(FIRST_ROWS + 3):
            bar.measured(f"entry {number}\x1b[31m", 1.5e-6)
    rows = [line for line in screen.getvalue().splitlines() if "entry" in line]
    assert len(rows) == FIRST_ROWS
    assert "1.5 µs" in rows[0] or "1.500 µs" in rows[0]
    assert "\x1b[31m" not in screen.getvalue()


def test_a_log_has_each_row_once_in_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    RunLines("suite").measured("entry", 1.5e-6)
    assert capsys.readouterr() == ("", "")


def test_a_log_counts_variants_and_the_share_of_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("photometer.cli.progress.RUN_LINE_SECONDS", 0.0)
    lines = RunLines("suite")
    lines.progressed(RunState(3, 14, 1, 45.0, ("matmul",), 0.499))
    assert capsys.readouterr().err.splitlines() == [
        "suite: 49 %, 3 of 14 variants, 1 failed, about 45 s left; now matmul",
    ]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_phase_says_what_it_does(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    with one_phase("compiling [x]"):
        pass
    shown = capsys.readouterr()
    assert "compiling [x]" in shown.err
    assert not shown.out


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (RunState(0, 14, 0, 45.0, ("C++",), overdue=("C++",)), ["overdue: C++"]),
        (RunState(0, 14, 0, 45.0, ("C++", "matmul"), overdue=()), ["now matmul"]),
        (
            RunState(0, 14, 0, 45.0, ("C++",), nodes=(NodeState("east", ("C++",)),), overdue=("C++",)),
            ["overdue: C++", "east: C++"],
        ),
    ],
)
def test_what_runs_is_named_once_unless_its_node_must_be_said(state: RunState, said: list[str]) -> None:
    assert busy_lines(state) == said


def test_a_log_does_not_repeat_itself(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("photometer.cli.progress.RUN_LINE_SECONDS", 0.0)
    lines = RunLines("suite")
    waits = RunState(0, 14, 0, 1.0, ("matmul",), 0.88, overdue=("matmul",))
    for state in (waits, waits, waits, RunState(1, 14, 0, 1.0, ("add",), 0.9)):
        lines.progressed(state)
    assert capsys.readouterr().err.splitlines() == [
        "suite: 88 %, 0 of 14 variants, more than 1 s left; overdue: matmul",
        "suite: 90 %, 1 of 14 variants, about 1 s left; now add",
    ]
    monkeypatch.setattr("photometer.cli.progress.SAME_LINE_SECONDS", 0.0)
    lines.progressed(RunState(1, 14, 0, 1.0, ("add",), 0.9))
    assert capsys.readouterr().err, "a sign of life now and then"


def test_a_long_name_leaves_the_figures_whole() -> None:
    screen = io.StringIO()
    with run_bar("suite", Console(file=screen, width=80, force_terminal=True)) as bar:
        bar.progressed(RunState(3, 168, 0, 145.0, ("a name that goes on and on " * 5,), 0.5))
    assert "3 of 168 variants about 2 min 20 s left" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
