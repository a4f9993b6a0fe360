"""Running: an ordinary session: which tests run, what is measured, the table at the end, results file and store.

Records travel on the reports of tests, so that one path serves a single process and the workers of xdist. The rest of
photometer is imported only when a test measures something.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .fixtures import BENCH, BenchmarkFixtures, Engine, Fixtures, Once
from .options import (
    Asked,
    asks_for_instructions,
    check_results_files,
    has_pytest_benchmark,
    ignored_options,
    is_benchmark,
    is_given,
    refuse_gates,
    replace_pytest_benchmark,
)

if TYPE_CHECKING:
    from photometer.pytest_plugin.counting import CallCounter
    from photometer.pytest_plugin.kept import Kept

# Modes of xdist that hand out single tests; in the others the user has chosen what stays together.
SINGLE_TESTS = ("load", "worksteal")
WORKER_INPUT = "photometer_benchmarks"
LIST = "benchmarks.json"


def register_plugins(config: pytest.Config) -> None:
    """Register the plugins of this session: an ordinary run, or a comparison."""
    if not config.option.help and not config.option.version:
        refuse_gates(config)
        check_results_files(config)
    if config.option.photometer_compare and not config.option.help and not config.option.version:
        from .compared import ComparedRun

        config.pluginmanager.register(ComparedRun(config), "photometer-compare")
        return
    run = BenchmarkRun(config)
    config.pluginmanager.register(run, "photometer-run")
    register_fixtures(config, run)


def register_fixtures(config: pytest.Config, run: BenchmarkRun) -> None:
    manager = config.pluginmanager
    manager.register(Fixtures(run.make_engine), "photometer-fixtures")
    if config.option.photometer_benchmark:
        replace_pytest_benchmark(config)
    if not manager.hasplugin("benchmark"):
        manager.register(BenchmarkFixtures(run.make_engine), "photometer-benchmark")


class BenchmarkRun:
    """The hooks of an ordinary session."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_off = is_given(config, "off")
        self._is_worker = hasattr(config, "workerinput")
        self._lists: Path | None = None
        self._kept: Kept | None = None
        self._counted: list[pytest.Item] = []
        self._counter: CallCounter | None = None
        self._params: dict[str, Any] = {}
        # What was written for pytest-benchmark's tools, as lines.
        self._written: list[str] = []
        if not self._is_worker and getattr(config.option, "dist", "no") in SINGLE_TESTS:
            self._lists = Path(tempfile.mkdtemp(prefix="photometer-xdist-"))

    def make_engine(self, item: pytest.Item, asked: Asked) -> Engine:
        if self._is_off:
            return Once()
        from photometer.pytest_plugin.measuring import Measuring

        option = vars(self._config.option)
        min_time = option["photometer_min_time"]
        # If pytest-benchmark is installed, its options belong to it.
        if not has_pytest_benchmark(self._config):
            asked = dataclasses.replace(asked, cprofile=asked.cprofile or bool(option.get("benchmark_cprofile")))
            min_time = min_time or option.get("benchmark_max_time")
        return Measuring(item, asked, min_time)

    def pytest_report_header(self) -> list[str]:
        ignored = ignored_options(self._config)
        return [f"photometer: ignored {', '.join(ignored)}"] if ignored else []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[WORKER_INPUT] = None if self._lists is None else str(self._lists / LIST)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        if self._lists is None:
            return None
        from photometer.pytest_plugin.one_worker import make_scheduler

        return make_scheduler(config, log, self._lists / LIST)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        left = getattr(self._config, "workerinput", {}).get(WORKER_INPUT)
        if left:
            from photometer.pytest_plugin.one_worker import write_benchmarks

            # Before xdist reports that collection is complete.
            write_benchmarks(Path(left), [item.nodeid for item in session.items if is_benchmark(item)])
        self._counted = [item for item in session.items if is_benchmark(item) and asks_for_instructions(item)]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        only = is_given(self._config, "only")
        skip = is_given(self._config, "skip") and not only
        if not only and not skip:
            return
        for item in items:
            if is_benchmark(item) and skip:
                item.add_marker(pytest.mark.skip(reason="benchmarks are skipped (--photometer-skip)"))
            elif not is_benchmark(item) and only:
                item.add_marker(pytest.mark.skip(reason="only benchmarks run (--photometer-only)"))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, None]:
        """End by SIGTERM as by Ctrl-C, so that the table is printed and the files are written."""
        # xdist's controller has no tests of its own.
        if self._is_worker or not any(is_benchmark(item) for item in getattr(session, "items", ())):
            yield
            return
        from photometer.cli.ending import BESIDES_CTRL_C, ending_by_signals

        with ending_by_signals(BESIDES_CTRL_C):
            yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip a test whose accelerator is missing, before its fixtures try to use it."""
        if any(mark.kwargs.get("device") for mark in item.iter_markers("photometer")) and is_benchmark(item):
            from photometer.pytest_plugin.measuring import skip_without_device

            skip_without_device(item)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        outcome = yield
        if call.when == "call" and BENCH in item.stash and not self._is_off:
            from photometer.pytest_plugin.measuring import plain, records_of

            report = outcome.get_result()
            records = records_of(item.stash[BENCH])
            if item in self._counted and report.passed:
                records += self._count(item)
            if records:
                report.photometer_records = records
                report.photometer_params = plain(getattr(getattr(item, "callspec", None), "params", None))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        records = getattr(report, "photometer_records", None)
        if records and not self._is_worker:
            self._keep().add(records)
            self._params[records[0]["test"]] = report.photometer_params

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._kept is None:
            return
        from photometer.pytest_plugin.summary import profile_lines, run_lines

        terminalreporter.section("benchmarks")
        for line in run_lines(self._kept.records, terminalreporter._tw.fullwidth):
            terminalreporter.write_line(line)
        given = vars(self._config.option)
        for line in profile_lines(
            self._kept.records,
            given.get("benchmark_cprofile"),
            given.get("benchmark_cprofile_top"),
            terminalreporter._tw.fullwidth,
        ):
            terminalreporter.write_line(line)
        for line in (*self._kept.messages(), *self._written):
            terminalreporter.write_line(line)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._counter is not None:
            self._counter.close()
        if self._kept is None:
            return
        is_written = self._write_benchmark_json(self._kept.records)
        if (self._kept.is_incomplete or not is_written) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_unconfigure(self) -> None:
        if self._lists is not None:
            shutil.rmtree(self._lists, ignore_errors=True)
        if self._kept is not None:
            self._kept.close()

    def _write_benchmark_json(self, records: list[dict[str, Any]]) -> bool:
        """Write the files of pytest-benchmark's options, unless it is installed itself.

        Return False if that failed.
        """
        if has_pytest_benchmark(self._config):
            return True
        from photometer.errors import PhotometerError
        from photometer.pytest_plugin.benchmark_json import BenchmarkJson

        asked = BenchmarkJson.of(self._config)
        try:
            written = [] if asked is None else asked.write(records, self._params, self._config.rootpath)
        except (PhotometerError, OSError) as error:
            self._written = [f"photometer: the file for pytest-benchmark's tools is not written: {error}"]
            return False
        self._written = [f"in pytest-benchmark's format: {path}" for path in written]
        return True

    def _count(self, item: pytest.Item) -> list[dict[str, Any]]:
        if self._counter is None:
            from photometer.pytest_plugin.counting import CallCounter

            self._counter = CallCounter(self._config, self._counted)
        return self._counter.count(item.stash[BENCH])

    def _keep(self) -> Kept:
        if self._kept is None:
            from photometer.pytest_plugin.kept import Kept

            option = self._config.option
            self._kept = Kept(option.photometer_json, option.photometer_store, self._config.rootpath.name)
        return self._kept
