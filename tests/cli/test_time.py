"""`photometer time` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compiled import ONES
from tests.photometer_command import photometer

pytestmark = [pytest.mark.warm, pytest.mark.lengthy]


def test_one_statement() -> None:
    done = photometer("time", "torch.add(x, 1)", "--setup", "x = torch.ones(4)", "--min-run-time", "0.01")
    assert done.returncode == 0, done.stderr
    assert "torch.add(x, 1)" in done.stdout
    assert "Median:" in done.stdout
    assert "photometer ab" not in done.stderr


def test_several_statements_are_compared() -> None:
    done = photometer("time", "x + 1", "x + 2", "-s", "x = 1", "--label", "adding", "--min-run-time", "0.01")
    assert done.returncode == 0, done.stderr
    assert "adding" in done.stdout
    assert "x + 2" in done.stdout
    assert done.stderr.count("photometer ab") == 1, "times taken one after another cannot be compared"


def test_statements_and_setups_from_files(tmp_path: Path) -> None:
    (tmp_path / "scaled.py").write_text("y = 2 * x\n# ---\ny + x\n")
    (tmp_path / "before.py").write_text("x = 3\n")
    done = photometer(
        *("time", f"@{tmp_path / 'scaled.py'}", "-s", f"@{tmp_path / 'before.py'}", "--json", "--min-run-time", "0.01")
    )
    assert done.returncode == 0, done.stderr
    spec = json.loads(done.stdout)["task_spec"]
    assert (spec["stmt"].strip(), spec["setup"].split()) == ("y + x", ["x", "=", "3", "y", "=", "2", "*", "x"])


def test_json_is_one_measurement_a_line() -> None:
    done = photometer("time", "pass", "1 + 1", "--json", "--min-run-time", "0.01")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["task_spec"]["stmt"] for r in records] == ["pass", "1 + 1"]
    assert all(r["raw_times"] for r in records)


@pytest.mark.parametrize(
    ("stmt", "said"),
    [("1 / 0", "ZeroDivisionError"), ("x = =", "SyntaxError"), ("y + 1", "Define what the statement uses")],
)
def test_failing_statement_shows_the_line_and_no_machinery(stmt: str, said: str) -> None:
    done = photometer("time", stmt)
    assert done.returncode == 1
    assert said in done.stderr
    assert stmt in done.stderr
    assert "typer" not in done.stderr


def test_usage_errors() -> None:
    assert photometer("time").returncode == 2
    assert photometer("time", "pass", "--precision", "-1").returncode == 2
    assert photometer("no-such-command").returncode == 2
    assert photometer("--version").stdout.strip()


@pytest.mark.compiler
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(["auto y = x + 1;"], id="one"),
        pytest.param(["auto y = x + 1;", "auto y = x.add(1);"], id="two", marks=pytest.mark.nightly),
    ],
)
def test_cpp_statements(statements: list[str]) -> None:
    done = photometer("time", "--cpp", *statements, "-s", ONES, "--min-run-time", "0.01")
    assert done.returncode == 0, done.stderr
    assert statements[-1] in done.stdout


@pytest.mark.compiler
@pytest.mark.nightly
def test_cpp_that_does_not_compile_is_told_with_its_line() -> None:
    broken = photometer("time", "--cpp", "auto y = ;")
    assert broken.returncode == 1
    assert "stmt:1" in broken.stderr


@pytest.mark.valgrind
@pytest.mark.slow
def test_instructions_of_two_statements_show_what_differs() -> None:
    done = photometer("time", "--instructions", "x + y", "x + y; x is y", "-s", "x = 1; y = 2", "--number", "50")
    assert done.returncode == 0, done.stderr
    assert "with allocator" in done.stdout
    assert "_PyEval_EvalFrameDefault" in done.stdout
    assert "50 runs" in done.stdout


def test_instructions_without_valgrind_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = photometer("time", "--instructions", "pass")
    assert done.returncode == 1
    assert "Valgrind" in done.stderr
    assert "Install" in done.stderr


def test_device_without_an_accelerator_is_a_clear_message() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    done = photometer("time", "--device", "torch.ones(3)")
    assert done.returncode == 1
    assert "no accelerator" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_limit_ends_it_with_what_is_known() -> None:
    done = photometer("time", "time.sleep(0.01)", "-s", "import time", "--min-run-time", "10000", "--limit", "6")
    assert done.returncode == 1, done.stderr
    assert "the time limit (--limit) was reached" in done.stderr
    assert "Traceback" not in done.stderr
