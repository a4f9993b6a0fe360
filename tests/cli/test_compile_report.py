"""`photometer compile-report` and `--fail-on`: usage quickly, the real compiler at night."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from photometer.cli import build_app
from photometer.cli.compile_report import compile_gate, exit_status
from photometer.cli.exit_codes import ExitCode
from photometer.model.compile_report import CompileReport, GraphBreak
from photometer.model.task import TaskSpec

BREAKS = "def f(x):\n    y = torch.relu(x)\n    if y.sum().item() > 1e9: y = y + 1\n    return y\nx = torch.ones(n)"


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(build_app(), [*arguments])
    return done.exit_code, done.output


def test_words_of_fail_on() -> None:
    assert [rule.watched for rule in compile_gate(["recompile, graph-break"]).rules] == ["recompile", "graph-break"]
    assert [rule.watched for rule in compile_gate(["recompile", "graph-break"]).rules] == ["recompile", "graph-break"]
    assert compile_gate(None).rules == compile_gate(["never"]).rules == ()
    for word, told in (("slow", "there is no rule 'slow'"), ("recompile:5%", "recompile has no threshold")):
        code, text = run("compile-report", "x", "--fail-on", word)
        assert code == 2
        assert told in " ".join(text.replace("│", " ").split())
    with pytest.raises(typer.BadParameter, match="nothing is compared here"):
        compile_gate(["slower:5%"])


def test_complaints_name_the_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    report = CompileReport(TaskSpec("f(x)", label="mul"), graphs=2, breaks=(GraphBreak("item()"),))
    breaks, recompiles = compile_gate(["graph-break"]), compile_gate(["recompile"])
    assert exit_status(breaks, [report], measured=True, failed=False) is ExitCode.SLOWER
    (line,) = capsys.readouterr().err.splitlines()
    assert "mul" in line
    assert line.endswith(": 1 graph break (--fail-on graph-break)")
    assert exit_status(recompiles, [report], measured=True, failed=False) is ExitCode.FINE
    assert capsys.readouterr().err == ""


def test_a_broken_rule_is_told_before_a_failure_and_a_failure_before_nothing() -> None:
    report = CompileReport(TaskSpec("f(x)"), graphs=2, breaks=(GraphBreak("item()"),))
    gate = compile_gate(["graph-break"])
    assert exit_status(gate, [report], measured=True, failed=True) is ExitCode.SLOWER
    assert exit_status(gate, [], measured=True, failed=True) is ExitCode.FAILED
    assert exit_status(gate, [], measured=False, failed=True) is ExitCode.FAILED
    assert exit_status(gate, [], measured=False, failed=False) is ExitCode.NOTHING_RAN
    assert exit_status(gate, [], measured=True, failed=False) is ExitCode.FINE


def test_a_mistake_is_said_before_anything_starts() -> None:
    code, _ = run("compile-report", "f(x)", "--mode", "fast")
    assert code == 1


@pytest.mark.nightly
@pytest.mark.compiler
def test_a_statement_that_breaks_and_is_recompiled() -> None:
    code, text = run("compile-report", "f(x)", "-s", BREAKS, "-L", "n=8,16,32", "--json", "--fail-on", "graph-break")
    assert code == 3
    (line,) = [line for line in text.splitlines() if line.startswith('{"kind"')]
    report = json.loads(line)
    assert report["graphs"] >= 1
    assert "item()" in report["breaks"][0]["reason"]
    assert report["breaks"][0]["code"] == "if y.sum().item() > 1e9: y = y + 1"
    assert any("size mismatch" in each["reason"] for each in report["recompilations"])
    assert report["warm_cache_hits"] > 0
    assert report.get("cache_hits", 0) == 0
    assert report["guard_seconds"] > 0


@pytest.mark.nightly
@pytest.mark.compiler
def test_a_run_has_reports_speedups_and_memory_of_compiled_variants(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(
        "from photometer import GroupedSetup, GroupedStmts\n"
        "BENCHMARKS = {'gelu': GroupedStmts('y = torch.nn.functional.gelu(x) + x',"
        " setup=GroupedSetup('x = torch.ones(512)'),"
        " signature='f(x) -> y', compiled=True)}\n"
    )
    out = str(tmp_path / "out")
    code, text = run("run", str(tmp_path / "suite.py"), "-o", out, "--memory", "--no-instructions", "--timeout", "400")
    assert code == 0, text
    assert "With torch.compile:" in text
    records = json.loads((tmp_path / "out" / "results.json").read_text())["records"]
    kinds = sorted(record["kind"] for record in records)
    assert kinds == ["compile_report", "measurement", "measurement", "memory", "memory", "speedup"]
    memory = {
        record["order"]["auto"]["runtime"]: record["repeats"][-1] for record in records if record["kind"] == "memory"
    }
    # Two operations are fused: one result of 2 KiB, without the one between.
    assert memory["compiled"]["allocated_bytes"] == 2048
    assert memory["eager"]["allocated_bytes"] == 4096
