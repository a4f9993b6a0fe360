from __future__ import annotations

import traceback
from pathlib import Path

from photometer.analysis.comparison_result import ComparisonFailure
from photometer.analysis.failing_line import LONGEST_LINE, failing_line, telling_lines, with_failing_line
from photometer.analysis.run_table import RunFailure
from photometer.model.records import to_record
from photometer.report.page.view_comparison import without_verdict
from photometer.report.page.view_run import run_views
from photometer.report.run_text import render_failure
from photometer.report.verdict_text import render_verdicts, render_verdicts_markdown
from photometer.worker.python_loop import PythonLoop
from photometer.worker.user_error import describe_exception
from tests.analysis.verdicts import comparison


def log_of(stmt: str, setup: str = "pass") -> str:
    """The log as the worker makes it."""
    try:
        PythonLoop(stmt, setup).timeit(1)
    except Exception as error:
        return str(describe_exception(error)["traceback"])
    raise AssertionError("it did not raise")


def test_the_line_of_a_statement_and_of_a_function_in_its_setup() -> None:
    assert failing_line(log_of("1 / 0")) == "1 / 0"
    assert failing_line(log_of("f({})", "def f(d):\n    return d['setup']")) == "return d['setup']"


def test_the_library_that_raised_is_not_the_users_line() -> None:
    assert failing_line(log_of("json.loads('{')", "import json")) == "json.loads('{')"


def test_a_file_of_the_user_is_named(tmp_path: Path) -> None:
    path = tmp_path / "my_helpers.py"
    path.write_text("def f(d):\n    return d['setup']\n")
    setup = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import my_helpers"
    assert failing_line(log_of("my_helpers.f({})", setup)) == "my_helpers.py:2: return d['setup']"


def test_a_syntax_error_and_what_is_no_traceback() -> None:
    try:
        compile("x +", "<stmt>", "exec")
    except SyntaxError:
        assert failing_line(traceback.format_exc()) == "x +"
    for log in ("", "Traceback", "error: expected ';'", 'File "x", line 1', '  File "x", line 1, in f\n'):
        assert failing_line(log) == ""
        assert with_failing_line("KeyError: 'a'", log) == "KeyError: 'a'"


def test_a_long_line_is_cut() -> None:
    line = failing_line(log_of("1 / 0 + " + "1 + " * 200 + "1"))
    assert line.startswith("1 / 0 + 1")
    assert len(line) == LONGEST_LINE


def test_terminal_and_page_show_it() -> None:
    log = log_of("f({})", "def f(d):\n    return d['setup']")
    wanted = "KeyError: 'setup', in: return d['setup']"
    assert render_failure(RunFailure("a", "time", "KeyError: 'setup'", log)) == f"a: timing failed: {wanted}"
    (skip,) = run_views([{"kind": "failure", "step": "time", "message": "KeyError: 'setup'", "log": log}]).failed
    assert wanted in skip.reason
    failure = ComparisonFailure("1", "add", "branch", "KeyError: 'setup'", log)
    (skip,) = without_verdict([to_record(failure)], failure.KIND)
    assert wanted in skip.reason
    compared = comparison(failures=(failure,))
    assert wanted in render_verdicts(compared, 200)
    assert "in: return d" in render_verdicts_markdown(compared)


def test_a_failure_is_one_line() -> None:
    assert render_failure(RunFailure("a\nb", "time", "KeyError: 1\nmore")) == "a\\nb: timing failed: KeyError: 1"


def test_a_crash_is_shown_from_its_start_another_error_at_its_end() -> None:
    crash = "printed\n\nFatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
    crash += "".join(f'  File "f{n}.py", line {n} in f{n}\n' for n in range(20)) + "\nExtension modules: torch._C\n"
    assert telling_lines(crash, 3) == [
        "Fatal Python error: Aborted",
        "Current thread 0x1 (most recent call first):",
        '  File "f0.py", line 0 in f0',
    ]
    assert telling_lines("a\nb\nc\n", 2) == ["b", "c"]
