"""`photometer ab` as a user types it. Most tests replace the measuring by made-up verdicts; one is real."""

from __future__ import annotations

import csv
import dataclasses
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
from photometer.comparing.ab_findings import AbFindings, AbRequest, StatementCount
from photometer.comparing.rank import Stopping, rank_side_by_side
from photometer.comparing.statement_source import StatementSource
from photometer.comparing.statements import AbStages
from photometer.instruments.callgrind.count_task import CountedTask, CountTask
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.task import Language, TaskSpec
from photometer.session.session import Session
from tests.comparing.test_rank import MadeUp
from tests.instruments.callgrind import GOLDEN, parse_profile
from tests.photometer_command import photometer


class Measured:
    """Stands for the measuring; remembers what was asked for."""

    def __init__(self, seconds: tuple[float, ...]) -> None:
        self.seconds = seconds
        self.budget = 10.0
        self.requests: list[AbRequest] = []

    def rank(self, request: AbRequest, on_look: Any = None) -> Ranking:
        self.requests.append(request)
        names = [contender.name for contender in request.contenders]
        return rank_side_by_side(names, MadeUp(self.seconds[: len(names)]), Stopping(self.budget), on_look=on_look)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    stands_for = Measured((1e-6, 1.5e-6, 0.5e-6))

    def rank(source: StatementSource, sides: object, checked: object, on_look: Any = None) -> Ranking:
        return stands_for.rank(source._request, on_look)

    monkeypatch.setattr(StatementSource, "rank", rank)
    monkeypatch.setattr(
        "photometer.comparing.statement_source.built_snippets", lambda request: [None] * len(request.contenders)
    )
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
    rows = [line.split() for line in out.split("\n\n")[1].splitlines()]
    assert [row[0] for row in rows] == ["rank", "1", "2", "3"]
    by_word = {row[1]: row for row in rows}
    assert by_word["slower"][-3:] == ["x", "+", "2"]
    assert "1.5" in by_word["slower"][2]
    assert "+500 ns" in " ".join(by_word["slower"])
    assert by_word["faster"][-3:] == ["x", "+", "3"]
    assert " % to " in " ".join(by_word["faster"])
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
    ab(capsys, "f();", "g();", "--cpp", "--global-setup", "#include <vector>", "-q")
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


@pytest.mark.lengthy
def test_fail_on_takes_the_rules_of_compare(
    measured: Measured, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ab(capsys, "a", "b", "-q", "--fail-on", "never")[0] == 0
    assert ab(capsys, "a", "b", "-q", "--fail-on", "slower:60%")[0] == 0
    code, out, _ = ab(capsys, "a", "b", "-q", "--fail-on", "slower:5%")
    assert code == 3
    assert "  b: slower by 50 %, more than the 5 % allowed" in out
    code, out, err = ab(capsys, "a", "b", "c", "-q", "--fail-on", "undecided,slower:5%", "--json")
    assert code == 3
    # Beside a document, not in it.
    assert json.loads(out)
    assert "  ab: b: slower by 50 %" in err
    # Of the points of a sweep, the worst counts.
    assert ab(capsys, "a", "b + n", "-q", "-L", "n=1,2", "--fail-on", "slower")[0] == 3
    monkeypatch.setattr(AbStages, "measure_memory", growing)
    assert ab(capsys, "a", "b", "-q", "--memory", "--fail-on", "memory:0")[0] == 3
    assert ab(capsys, "a", "b", "-q", "--memory", "--fail-on", "memory:64KiB")[0] == 0


def test_undecided_is_an_exit_status_of_its_own(measured: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    measured.seconds, measured.budget = (1e-6, 1.004e-6), 0.3
    assert ab(capsys, "a", "b", "-q", "--fail-on", "slower")[0] == 0
    assert ab(capsys, "a", "b", "-q", "--fail-on", "undecided")[0] == 4


def test_formats(measured: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ab(capsys, "a|b", "c", "-q", "--markdown")
    assert "| rank | verdict |" in out
    assert "a\\|b" in out
    _, out, _ = ab(capsys, "+1+1", "c", "-q", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["verdict"] for row in rows] == ["reference", "slower"]
    assert not rows[0]["statement"].startswith("+")
    assert float(rows[1]["ratio"]) == pytest.approx(1.5, rel=0.05)
    _, out, _ = ab(capsys, "a", "c", "-q", "--json")
    record = json.loads(out)
    assert record["kind"] == "ranking"
    assert record["pairs"][0]["verdict"]["verdict"] == "slower"


def test_the_results_file_is_read_again(measured: Measured, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import photometer

    path = tmp_path / "out" / "results.json"
    ab(capsys, "a", "b", "c", "-q", "-o", str(path.parent))
    (ranking,) = photometer.load(path)
    assert isinstance(ranking, Ranking)
    assert ranking.groups == (("c",), ("a",), ("b",))
    assert json.loads(path.read_text())["ab"]["statements"] == ["a", "b", "c"]


@pytest.mark.lengthy
def test_each_figure_is_printed_before_the_next_is_measured(
    measured: Measured, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: dict[str, str] = {}

    def ahead(session: Session, statements: object, threads: int) -> None:
        measured.requests.clear()
        printed["start"] = capsys.readouterr().out

    def count(stages: AbStages, found: AbFindings) -> AbFindings:
        assert measured.requests, "the counter's server starts before the statements are timed"
        printed["count"] = capsys.readouterr().out
        counts = (counted(contender.stmt) for contender in found.request.contenders)
        return dataclasses.replace(found, counted=tuple(counts))

    def memories(stages: AbStages, found: AbFindings) -> AbFindings:
        printed["memory"] = capsys.readouterr().out
        uses = (memory_of(contender.stmt) for contender in found.request.contenders)
        return dataclasses.replace(found, memories=tuple(uses))

    monkeypatch.setattr("photometer.comparing.statement_source.find_valgrind", lambda: None)
    monkeypatch.setattr("photometer.comparing.statement_source.start_counter_ahead", ahead)
    monkeypatch.setattr(AbStages, "count", count)
    monkeypatch.setattr(AbStages, "measure_memory", memories)
    options = ("--instructions", "--memory", "-q")
    code, last, _ = ab(capsys, "a", "b", *options)
    assert code == 0
    assert printed["start"] == ""
    assert "slower" in printed["count"]
    assert "instructions" in printed["memory"]
    assert "slower" not in printed["memory"]
    assert "memory of one run" in last
    assert "instructions" not in last
    _, out, _ = ab(capsys, "a", "b", *options, "--json")
    assert printed["count"] == printed["memory"] == "", "JSON is one document"
    assert {"pairs", "instructions", "memory"} <= set(json.loads(out))
    _, out, _ = ab(capsys, "a", "b", *options, "--csv")
    assert len(list(csv.DictReader(io.StringIO(printed["count"])))) == 2
    assert out == printed["memory"] == ""


def counted(stmt: str) -> StatementCount:
    profile = parse_profile(GOLDEN / "plain.out")
    task = CountedTask(CountTask(TaskSpec(stmt, "pass"), number=100), (profile,), profile)
    return StatementCount(task.instruction_counts(), task.function_counts(), False)


def growing(stages: AbStages, found: AbFindings) -> AbFindings:
    """Return what one run allocates: 4 KiB more for each statement."""
    uses = [
        MemoryMeasurement(TaskSpec(contender.stmt), (MemoryFigures(4096 * number, 4096 * number, number),) * 3)
        for number, contender in enumerate(found.request.contenders, start=1)
    ]
    return dataclasses.replace(found, memories=tuple(uses))


def memory_of(stmt: str) -> MemoryMeasurement:
    return MemoryMeasurement(TaskSpec(stmt, "pass"), (MemoryFigures(44, 44, 3),))


def test_progress_says_what_is_known_so_far(
    measured: Measured, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("photometer.cli.progress.COMPARISON_LINE_SECONDS", 0.0)
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
        ("a", "b", "--fail-on", "slower:5"),
        ("a", "b", "--fail-on", "recompile"),
        ("a", "b", "--fail-on", "instructions:1%"),
        ("a", "b", "--fail-on", "memory:0"),
    ],
)
def test_usage_errors(measured: Measured, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert ab(capsys, *arguments)[0] == 2


@pytest.mark.lengthy
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
    done = photometer(*command)
    assert done.returncode == 0, done.stderr
    assert "_PyEval_EvalFrameDefault" in done.stdout
    assert "x+y executes the same instructions as the first" in done.stdout
