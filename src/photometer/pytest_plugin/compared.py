"""ComparedRun: the hooks of `pytest --photometer-compare BASE`: each benchmark runs in two environments at once.

This process collects tests and reports them; it runs none. A test fails if the branch is slower by more than the
margin, with the cause in its report, or if it fails on the branch's side; a test that the base cannot run is skipped.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .fixtures import BenchmarkFixtures, Engine, Fixtures, Once
from .options import Asked, asked_of, has_pytest_benchmark, is_benchmark

if TYPE_CHECKING:
    from photometer.pytest_plugin.paired import JudgedTest, PairedTests

WORKTREE = "git:WORKTREE"


class ComparedRun:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._paired: PairedTests | None = None
        self._judged: list[JudgedTest] = []
        if getattr(config.option, "dist", "no") != "no" or hasattr(config, "workerinput"):
            raise pytest.UsageError("--photometer-compare runs one test at a time: leave out -n, or add -n0")
        manager = config.pluginmanager
        manager.register(Fixtures(_once), "photometer-fixtures")
        if config.option.photometer_benchmark or not has_pytest_benchmark(config):
            manager.register(BenchmarkFixtures(_once), "photometer-benchmark")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        others = [item for item in items if not is_benchmark(item)]
        items[:] = [item for item in items if is_benchmark(item)]
        if others:
            self._config.hook.pytest_deselected(items=others)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, None]:
        if self._config.option.collectonly or not session.items or session.testsfailed:
            yield
            return
        from photometer.errors import PhotometerError
        from photometer.pytest_plugin.paired import PairedTests

        try:
            request, tree = self._request(session.items)
            paired = PairedTests(request, tree)
            paired.__enter__()
        except PhotometerError as error:
            raise pytest.UsageError(str(error)) from None
        self._paired = paired
        try:
            yield
        finally:
            paired.__exit__(None, None, None)

    def pytest_runtest_protocol(self, item: pytest.Item) -> bool:
        assert self._paired is not None
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports(item, self._paired):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._paired is None or not self._judged:
            return
        from photometer.report.verdict_text import render_verdicts

        comparison = self._paired.conclude(self._judged)
        terminalreporter.section("benchmarks compared")
        writer = terminalreporter._tw
        terminalreporter.write(render_verdicts(comparison, writer.fullwidth, writer.hasmarkup))
        if self._config.option.photometer_json:
            terminalreporter.write_line(f"results: {self._config.option.photometer_json}")

    def _request(self, items: list[pytest.Item]) -> Any:
        from photometer.ci.acceptance import find_acceptances
        from photometer.comparing.request import BUDGET_SECONDS_PER_BENCHMARK, ComparisonSettings
        from photometer.environments.spec import parse_environment
        from photometer.environments.worktree import top_of
        from photometer.pytest_plugin.paired import PairedRequest
        from photometer.pytest_plugin.session_tree import SessionTree

        option = self._config.option
        base = parse_environment(option.photometer_compare, self._config.invocation_params.dir)
        # The working tree is copied to a place like a checkout's, so that both sides' paths have the same length.
        asked_for = option.photometer_branch or (WORKTREE if base.git is not None else "current")
        branch = parse_environment(asked_for, self._config.invocation_params.dir)
        settings = ComparisonSettings(
            budget_seconds=option.photometer_budget or BUDGET_SECONDS_PER_BENCHMARK,
            margin=option.photometer_margin,
            instructions=not option.photometer_no_instructions,
        )
        file = Path(option.photometer_json) if option.photometer_json else None
        sources = [spec.git for spec in (base, branch) if spec.git is not None]
        tree = SessionTree.of(self._config, items, top_of(sources[0]) if sources else None)
        accepted = find_acceptances((base, branch))
        return PairedRequest((base, branch), settings, file, option.photometer_store, accepted), tree

    def _reports(self, item: pytest.Item, paired: PairedTests) -> Generator[pytest.TestReport, None, None]:
        began = time.time()
        try:
            judged = paired.judge(item.nodeid, asked_of(item))
        except (TypeError, ValueError) as error:
            yield _report(item, "call", "failed", str(error), began)
            return
        self._judged.append(judged)
        from photometer.pytest_plugin.compared_outcome import outcome_of

        outcome = outcome_of(judged, paired.names)
        yield _report(item, "setup", "passed", None, began)
        yield _report(item, "call", outcome.word, outcome.text, began)
        yield _report(item, "teardown", "passed", None, time.time())


def _once(item: pytest.Item, asked: Asked) -> Engine:
    return Once()


def _report(item: pytest.Item, when: Any, outcome: Any, text: str | None, began: float) -> pytest.TestReport:
    now = time.time()
    longrepr: Any = text
    if outcome == "skipped":
        path, line, _ = item.location
        longrepr = (path, (line or 0) + 1, f"Skipped: {text}")
    keywords: dict[str, Any] = dict.fromkeys(item.keywords, 1)
    return pytest.TestReport(
        item.nodeid, item.location, keywords, outcome, longrepr, when, duration=now - began, start=began, stop=now
    )
