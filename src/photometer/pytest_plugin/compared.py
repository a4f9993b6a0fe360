"""ComparedRun: the hooks of `pytest --photometer-compare BASE`: each benchmark runs in two environments at once.

This process collects tests and reports them; it runs none. A test fails if the branch is slower by more than the
margin, with the cause in its report, or if it fails on the branch's side; a test that the base cannot run is skipped.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .fixtures import BenchmarkFixtures, Engine, Fixtures, Once
from .options import Asked, asked_of, is_benchmark, replace_pytest_benchmark

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
        make_importable(config.rootpath)
        manager = config.pluginmanager
        manager.register(Fixtures(_once), "photometer-fixtures")
        replace_pytest_benchmark(config)
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
        from photometer.cli.ending import BESIDES_CTRL_C, ending_by_signals
        from photometer.errors import PhotometerError
        from photometer.pytest_plugin.paired import PairedTests, SaysMaking

        with keeping_servers(self._config), ending_by_signals(BESIDES_CTRL_C):
            try:
                request, tree = self._request(session.items)
                paired = PairedTests(request, tree, SaysMaking(self._say))
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
        if self._judged and self._judged[-1].test == item.nodeid:
            self._say_verdict(self._judged[-1], self._paired.names)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._paired is None or not self._judged:
            return
        from photometer.report.comparison_text import render_comparison

        comparison = self._paired.conclude(self._judged)
        terminalreporter.section("benchmarks compared")
        writer = terminalreporter._tw
        terminalreporter.write(render_comparison(comparison, writer.fullwidth, writer.hasmarkup))
        if self._config.option.photometer_json:
            terminalreporter.write_line(f"results: {self._config.option.photometer_json}")

    def _say_verdict(self, judged: JudgedTest, names: tuple[str, ...]) -> None:
        """Print how a test was decided, at once: the table comes at the end."""
        from photometer.pytest_plugin.compared_outcome import verdict_lines

        for line in verdict_lines(judged, names):
            self._say(f"  {line}")

    def _say(self, text: str) -> None:
        """Print a separate line, also with -q."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(text)

    def _request(self, items: list[pytest.Item]) -> Any:
        from photometer.ci.acceptance import find_acceptances
        from photometer.ci.project import read_project
        from photometer.comparing.request import BUDGET_SECONDS_PER_BENCHMARK, ComparisonSettings
        from photometer.environments.spec import parse_environment
        from photometer.environments.worktree import top_of
        from photometer.pytest_plugin.paired import PairedRequest
        from photometer.pytest_plugin.session_tree import SessionTree

        option = self._config.option
        base = parse_environment(option.photometer_compare, self._config.invocation_params.dir)
        # The working tree is copied to a place like a checkout's, so that both sides' paths have the same length.
        asked_for = option.photometer_branch or [WORKTREE if base.git is not None else "current"]
        others = [parse_environment(each, self._config.invocation_params.dir) for each in asked_for]
        specs = (base, *others)
        settings = ComparisonSettings(
            budget_seconds=option.photometer_budget or BUDGET_SECONDS_PER_BENCHMARK,
            margin=option.photometer_margin,
            instructions=not option.photometer_no_instructions,
            seed=option.photometer_seed,
        )
        file = Path(option.photometer_json) if option.photometer_json else None
        sources = [spec.git for spec in specs if spec.git is not None]
        tree = SessionTree.of(self._config, items, top_of(sources[0]) if sources else None)
        accepted = find_acceptances(specs)
        install = option.photometer_install or read_project(self._config.rootpath).install
        return PairedRequest(specs, settings, file, option.photometer_store, accepted, install), tree

    def _reports(self, item: pytest.Item, paired: PairedTests) -> Generator[pytest.TestReport, None, None]:
        from photometer.comparing.comparison import ComparisonStopped
        from photometer.errors import CannotRun
        from photometer.model.visible_text import visible
        from photometer.pytest_plugin.paired import JudgedTest

        began = time.time()
        try:
            judged = paired.judge(item.nodeid, asked_of(item))
        except CannotRun as error:
            # It holds for all tests: said once, with the remedy.
            item.session.shouldfail = error.message
            yield _report(item, "call", "failed", visible(str(error)), began)
            return
        except (TypeError, ValueError) as error:
            yield _report(item, "call", "failed", str(error), began)
            return
        except ComparisonStopped as stop:
            # The table at the end has what is known of it.
            self._judged.append(JudgedTest(item.nodeid, stop.comparison))
            raise
        self._judged.append(judged)
        from photometer.pytest_plugin.compared_outcome import outcome_of

        outcome = outcome_of(judged, paired.names)
        yield _report(item, "setup", "passed", None, began)
        yield _report(item, "call", outcome.word, outcome.text, began)
        yield _report(item, "teardown", "passed", None, time.time())


def make_importable(root: Path) -> None:
    """Make the root and `src` importable for collecting tests, as in a side's checkout.

    They come last: packages that are installed here, or put on the path by the user, are preferred.
    """
    for folder in (root / "src", root):
        if folder.is_dir() and str(folder) not in sys.path:
            sys.path.append(str(folder))


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


@contextlib.contextmanager
def keeping_servers(config: pytest.Config) -> Iterator[None]:
    """Keep servers warm in a terminal, as the commands do, and print remarks about them there."""
    from photometer.session.remarks import remarks_to
    from photometer.session.warm import VARIABLE, keep_in_terminal

    writer = config.get_terminal_writer()
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = keep_in_terminal(in_terminal=writer.hasmarkup)
    try:
        with remarks_to(lambda text: writer.line(f"photometer: {text}")):
            yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
