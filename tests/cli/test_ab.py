"""`photometer ab` as a user types it. Most tests replace the measuring by made-up verdicts; one is real."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from photometer.analysis.ranking import Ranking
from photometer.cli import main
from photometer.cli.code_options import joined, read_code
from photometer.comparing import statements
from photometer.comparing.many import Stopping, rank_side_by_side
from photometer.comparing.statements import AbRequest
from photometer.model.language import Language
from tests.comparing.test_many import MadeUp


class Measured:
    """Stands for the measuring; remembers what was asked for."""

    def __init__(self, seconds: tuple[float, ...]) -> None:
        self.seconds = seconds
        self.requests: list[AbRequest] = []

    def __call__(self, request: AbRequest, *, on_look: Any = None) -> Ranking:
        self.requests.append(request)
        names = [contender.name for contender in request.contenders]
        return rank_side_by_side(names, MadeUp(self.seconds[: len(names)]), Stopping(10.0), on_look=on_look)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    stands_for = Measured((1e-6, 1.5e-6, 0.5e-6))
    monkeypatch.setattr(statements, "compare", stands_for)
    return stands_for


def ab(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["ab", *arguments])
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err


def test_a_line_per_statement_with_verdict_ratio_interval_and_difference(
    measured: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = ab(capsys, "x + 1", "x + 2", "x + 3", "-s", "x = 1")
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.startswith("  ")]
    assert [row[0] for row in rows] == ["rank", "1", "2", "3"]
    by_word = {row[1]: row for row in rows}
    assert by_word["slower"][-3:] == ["x", "+", "2"]
    assert "1.5" in by_word["slower"][2]
    assert "+500 ns" in " ".join(by_word["slower"])
    assert by_word["faster"][-3:] == ["x", "+", "3"]
    assert "…" in " ".join(by_word["faster"])
    assert "reference" in by_word
    assert "corrected for 3 pairs" in " ".join(out.split())


def test_options_reach_the_request(measured: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--threads", "2", "--budget", "3", "--limit", "7", "--margin", "0.01", "-q"]
    ab(capsys, "f()", "f()", "-s", "def f(): pass", "--setup-b", "def f(): 1", *options)
    (request,) = measured.requests
    assert [contender.setup for contender in request.contenders] == ["def f(): pass", "def f(): 1"]
    assert [contender.name for contender in request.contenders] == ["f() [1]", "f() [2]"]
    assert (request.num_threads, request.stopping.budget, request.stopping.limit) == (2, 3.0, 7.0)
    assert request.stopping.criteria.margin == 0.01
    ab(capsys, "f();", "g();", "--language", "cpp", "--global-setup", "#include <vector>", "-q")
    assert measured.requests[1].language is Language.CPP
    ab(capsys, "f()", "g()", "--device", "--cold", "-q")
    settings = measured.requests[2].device
    assert settings is not None
    assert settings.cold


def test_exit_status(measured: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    assert ab(capsys, "a", "b", "-q")[0] == 0
    assert ab(capsys, "a", "b", "-q", "--fail-on", "slower")[0] == 3
    assert ab(capsys, "a", "b", "c", "-q", "--fail-on", "slower")[0] == 3
    measured.seconds = (2e-6, 1e-6)
    assert ab(capsys, "a", "b", "-q", "--fail-on", "slower")[0] == 0


def test_formats(measured: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ab(capsys, "a|b", "c", "-q", "--format", "markdown")
    assert "| rank | verdict |" in out
    assert "a\\|b" in out
    _, out, _ = ab(capsys, "=1+1", "c", "-q", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["verdict"] for row in rows] == ["reference", "slower"]
    assert not rows[0]["statement"].startswith("=")
    assert float(rows[1]["ratio"]) == pytest.approx(1.5, rel=0.05)
    _, out, _ = ab(capsys, "a", "c", "-q", "--format", "json")
    record = json.loads(out)
    assert record["kind"] == "ranking"
    assert record["pairs"][0]["verdict"]["verdict"] == "slower"


def test_the_results_file_is_read_again(measured: Measured, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import photometer

    path = tmp_path / "results.json"
    ab(capsys, "a", "b", "c", "-q", "-o", str(path))
    (ranking,) = photometer.load(path)
    assert isinstance(ranking, Ranking)
    assert ranking.groups == (("c",), ("a",), ("b",))
    assert json.loads(path.read_text())["ab"]["statements"] == ["a", "b", "c"]


def test_progress_says_what_is_known_so_far(
    measured: Measured, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("photometer.cli.ab_progress.COMPARISON_LINE_SECONDS", 0.0)
    _, _, err = ab(capsys, "a", "b", "c")
    assert "c < a < b" in err
    _, _, err = ab(capsys, "a", "b")
    assert "+50 %" in err
    assert ab(capsys, "a", "b", "-q")[2] == ""


def test_files_of_code(measured: Measured, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old, new, setup = (tmp_path / name for name in ("old.py", "new.py", "setup.py"))
    old.write_text("import math\n# ---\nmath.sqrt(2)\n")
    new.write_text("2 ** 0.5\n")
    setup.write_text("y = 1\n")
    ab(capsys, f"@{old}", f"@{new}", "-s", f"@{setup}", "-q")
    first, second = measured.requests[0].contenders
    assert (first.stmt, first.setup, first.name) == ("math.sqrt(2)", "y = 1\n\nimport math", str(old))
    assert (second.stmt, second.setup) == ("2 ** 0.5", "y = 1")
    assert read_code("@f\ndef g(): pass").stmt.startswith("@f"), "a decorator is code"
    assert joined("pass", "", "x = 1") == "x = 1"


@pytest.mark.parametrize(
    "arguments",
    [
        ("a",),
        ("a", "@no-such-file.py"),
        ("a", "b", "--cold"),
        ("a", "b", "--device", "--instructions"),
        ("a", "b", "c", "--setup-b", "pass"),
        ("a", "b", "--margin", "2"),
        ("a", "b", "--limit", "0"),
        ("a", "b", "--format", "html"),
    ],
)
def test_usage_errors(measured: Measured, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert ab(capsys, *arguments)[0] == 2


def test_for_real_with_a_module_of_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(n):\n    for _ in range(n): pass\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "photometer",
            "ab",
            "mine.f(10)",
            "mine.f(300)",
            "-s",
            "import mine",
            "--fail-on",
            "slower",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "slower" in done.stdout


@pytest.mark.nightly
@pytest.mark.valgrind
def test_instructions_show_the_functions_that_differ() -> None:
    command = ["ab", "x + y", "x + y; x is y", "x+y", "-s", "x = 1; y = 2", "--instructions", "--budget", "1", "-q"]
    done = subprocess.run([sys.executable, "-m", "photometer", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "_PyEval_EvalFrameDefault" in done.stdout
    assert "x+y executes the same instructions as the first" in done.stdout
