"""Own metrics and sweeps in a comparison of two made-up environments."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.comparing.environments import live_comparison
from photometer.comparing.request import ComparisonRequest, ComparisonSettings
from photometer.definition import GroupedSetup, GroupedStmts
from photometer.model.machine import Environment
from photometer.model.results_reader import load_results
from photometer.report.page.page import render_report
from photometer.report.page.view_figures import compared_lines
from photometer.report.page.view_report import report_view
from photometer.report.verdict_text import render_verdicts, render_verdicts_markdown
from tests.session.fake_session import Behaviour, FakeServers

pytestmark = pytest.mark.lengthy

STMT = "loss = x.sum()"
SUITE = {"model": GroupedStmts(STMT, setup=GroupedSetup("x = torch.rand(n)"), sizes={"n": (1, 2, 3)}, metrics="loss")}


@pytest.mark.usefixtures("fake_processes")
def test_a_sweep_is_summed_up_and_a_metric_is_compared(tmp_path: Path) -> None:
    slower = {STMT: Behaviour(seconds_per_run=1.5e-6, metric=2.2)}
    servers = FakeServers({"base": {STMT: Behaviour(metric=2.0)}, "branch": slower})
    settings = ComparisonSettings(budget_seconds=120.0, margin=0.01, instructions=False, layouts=1)
    request = ComparisonRequest(
        (Environment("base"), Environment("branch")), suite=SUITE, settings=settings, output=tmp_path
    )
    with live_comparison(request, make_session=servers.session) as live:
        comparison = live.run()
    assert [(sweep.name, len(sweep.points)) for sweep in comparison.sweeps] == [("model", 3)]
    assert comparison.sweeps[0].sentence.startswith("model: slower at all 3 points, at most +50 %")
    assert [(metric.verdict, metric.base[0], metric.branch[0]) for metric in comparison.metrics] == [
        ("higher", 2.0, 2.2)
    ] * 3
    said = "loss of model [n=1]: higher by 10 % in every run, 2 on the base and 2.2 on the branch"
    assert said in " ".join(render_verdicts(comparison, 200).split())
    assert "over sizes:" in render_verdicts(comparison, 200)
    assert "slower at all 3 points" in render_verdicts_markdown(comparison)
    results = load_results(tmp_path / "comparison.json")
    assert results.kinds["comparison_metric"] == 3
    assert len(compared_lines(results.records)) == 4
    assert "slower at all 3 points" in render_report(report_view([results]))
