"""The pytest process of one side of a comparison: it stops at each benchmark and serves the worker's requests there.

Each request is served in a fork, which has the test's fixtures as they are. If something would not survive a fork (an
initialised accelerator, a thread pool), the request is served in this process. Standard library, torch and pytest
only. Standard input is the control socket, as in worker/server.py.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import shutil
import sys
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ..worker.child import BEFORE_BLOCK, serve_requests
from ..worker.messages import Started, encode_reply
from ..worker.protocol import receive_message, send_message
from ..worker.server import (
    CONTROL,
    STATUS,
    dying_with,
    end_strays,
    get_ready,
    out_of_reach,
    receive_descriptors,
    refuse_huge_pages,
)
from ..worker.valgrind_requests import running_on_valgrind, start_instrumentation, stop_instrumentation
from .fixtures import NEXT_ARGUMENTS, Arguments, BenchmarkFixtures, Call, Fixtures, Stats, statement_of
from .options import Asked, add_hooks, add_options, register_marks
from .stop_messages import FORK, GO_ON, Ended, SideSettings, Stopped

# Modules of torch that may have initialised an accelerator; asking them this way initialises none.
ACCELERATORS = ("cuda", "xpu", "mtia", "hpu", "npu")
# Kept from the end of a report, which says what failed.
MOST_CHARACTERS = 20_000
# Options that the near side has already handled, or that must not take effect twice.
NEUTRAL_OPTIONS = {"xmlpath": None, "maxfail": 0, "usepdb": False, "trace": False, "tbstyle": "short"}


def main(arguments: list[str]) -> None:
    """Take the arguments of worker/server.py. Never return."""
    folder, paths = "", []
    words = iter(arguments)
    for word in words:
        if word == "--temporary":
            folder = next(words)
        elif word == "--preload":
            next(words)
        elif word == "--small-pages":
            refuse_huge_pages()
        elif not word.startswith("--"):
            paths.append(word)
    sys.argv[:] = ["pytest"]
    sys.path[0:0] = paths
    channel, lifeline = receive_descriptors()
    with dying_with(lifeline, folder):
        greeting = get_ready(translate=False, preload=[])
    gc.unfreeze()
    gc.enable()
    send_message(channel, encode_reply(greeting))
    if isinstance(greeting, Started):
        settings = SideSettings(**receive_message(channel))
        _run_tests(Line(channel, lifeline, folder), settings)
    end_strays()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _run_tests(line: Line, settings: SideSettings) -> None:
    os.chdir(settings.folder)
    sys.path += [folder for folder in settings.path if folder not in sys.path]
    side = Side(line, settings.tests)
    # Another version of photometer may be installed here.
    given = [*settings.arguments, "-p", "no:photometer", "--capture=no", "--continue-on-collection-errors"]
    given += ["-n0"] if importlib.util.find_spec("xdist") else []
    given += ["--no-cov"] if importlib.util.find_spec("pytest_cov") else []
    given += [f"--basetemp={line.folder}/t", "-o", f"cache_dir={line.folder}/c"]
    with line.watched():
        pytest.main(given, plugins=[side])


class Line:
    """The three descriptors to the near side, out of the tests' reach."""

    def __init__(self, channel: int, lifeline: int, folder: str) -> None:
        self.folder = folder.rstrip("/") or "/"
        self.control = out_of_reach(os.dup(CONTROL))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, CONTROL)
        os.close(nothing)
        self.channel, self.lifeline = out_of_reach(channel), out_of_reach(lifeline)
        self._watch = contextlib.ExitStack()

    @contextlib.contextmanager
    def watched(self) -> Any:
        """End this process if the near side goes away while tests run."""
        self.watch()
        try:
            yield
        finally:
            self._watch.close()

    def watch(self) -> None:
        self._watch.enter_context(dying_with(self.lifeline, self.folder))

    def send(self, event: Stopped | Ended) -> None:
        send_message(self.channel, encode_reply(event))

    def serve(self, stopped: Stopped, names: dict[str, Any], threads: int) -> bool:
        """Serve requests about a stopped test. Return whether it may go on; False if the near side is gone."""
        # A child moves the lifeline's signal to itself.
        self._watch.close()
        with _collector_frozen(), _instrumented():
            self.send(stopped)
            while True:
                asked = os.read(self.control, 1)
                if asked != FORK:
                    break
                self._serve_once(names, threads)
        self.watch()
        return asked == GO_ON

    def _serve_once(self, names: dict[str, Any], threads: int) -> None:
        if must_not_fork(threads):
            serve_requests(self.channel, self.lifeline, names)
            os.write(self.control, STATUS.pack(os.getpid(), 0, 0))
            return
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # Python 3.12 warns if other threads exist; the child runs this one alone and leaves by _exit.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            self._live_as_child(names)
        _, status = os.waitpid(pid, 0)
        os.write(self.control, STATUS.pack(pid, status, 0))

    def _live_as_child(self, names: dict[str, Any]) -> None:
        """Serve one child's requests; never return."""
        status = 1
        try:
            os.close(self.control)
            # Its own process group: the near side can then also kill what the user's code has started.
            os.setpgid(0, 0)
            serve_requests(self.channel, self.lifeline, names)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


@contextlib.contextmanager
def _collector_frozen() -> Any:
    """Keep the collector of every fork from traversing what the session has created."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.enable()


@contextlib.contextmanager
def _instrumented() -> Any:
    """Under Callgrind, instrument forks from their start, but not the tests around them, which would be slow."""
    counts = running_on_valgrind()
    if counts:
        start_instrumentation()
    try:
        yield
    finally:
        if counts:
            stop_instrumentation()


def must_not_fork(threads: int) -> bool:
    """Return whether a fork would fail or hang because of an accelerator, or of threads that torch's pool waits for."""
    if running_on_valgrind():
        return False
    torch = sys.modules["torch"]
    if any(getattr(getattr(torch, name, None), "is_initialized", bool)() for name in ACCELERATORS):
        return True
    return threads > 1 and _has_native_threads()


def _has_native_threads() -> bool:
    try:
        return len(os.listdir("/proc/self/task")) > threading.active_count()  # noqa: PTH208
    except OSError:
        return True


class Side:
    """The plugin of a side: runs the requested tests in order, and stops each where it measures."""

    def __init__(self, line: Line, tests: Sequence[str]) -> None:
        self._line = line
        self._tests = list(tests)
        self._reports: list[pytest.TestReport] = []
        self._problems: list[str] = []

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        add_options(parser)

    def pytest_addhooks(self, pluginmanager: pytest.PytestPluginManager) -> None:
        add_hooks(pluginmanager)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        for name, value in NEUTRAL_OPTIONS.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        register_marks(config)
        # Registered now, after all installed plugins: of several fixtures with one name, pytest uses the last.
        config.pluginmanager.register(Fixtures(self.make_engine), "photometer-fixtures")
        config.pluginmanager.register(BenchmarkFixtures(self.make_engine), "photometer-benchmark")

    def make_engine(self, item: pytest.Item, asked: Asked) -> Stopping:
        return Stopping(self._line, item.nodeid, asked)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._problems.append(report.longreprtext)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[test] for test in self._tests if test in found]
        for test in self._tests:
            if test not in found:
                reason = "\n".join(self._problems) or "there is no such test"
                self._line.send(Ended(test, "missing", reason[-MOST_CHARACTERS:]))

    def pytest_runtest_logstart(self) -> None:
        self._reports.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._line.send(ended_of(nodeid, self._reports))


def ended_of(nodeid: str, reports: Sequence[pytest.TestReport]) -> Ended:
    """Return how a test ended, from the reports of its set-up, call and tear-down."""
    failed = [report for report in reports if report.failed]
    if failed:
        text = "\n".join(f"{report.when}:\n{report.longreprtext}" for report in failed)
        return Ended(nodeid, "failed", text[-MOST_CHARACTERS:])
    skipped = [report for report in reports if report.skipped]
    if skipped:
        reason = skipped[0].longrepr
        text = str(reason[2]) if isinstance(reason, tuple) else str(getattr(skipped[0], "wasxfail", reason))
        return Ended(nodeid, "skipped", text[-MOST_CHARACTERS:])
    return Ended(nodeid, "passed")


class Stopping:
    """The engine of a side: it stops the test until the near side is done, then calls the function once."""

    enabled = True

    def __init__(self, line: Line, test: str, asked: Asked) -> None:
        self._line = line
        self._test = test
        self._threads = asked.threads
        self.stats: Stats | None = None

    def measure(self, call: Call) -> Any:
        statement = statement_of(call)
        names = {**statement.names, **names_of_setup(call)}
        if not self._line.serve(Stopped(self._test, statement.text), names, self._threads):
            pytest.exit("the comparison is over", returncode=0)
        began = time.perf_counter()
        result = call.run_once()
        self.stats = Stats([time.perf_counter() - began], 1)
        return result

    def ab(self, statements: Sequence[Any], options: Mapping[str, Any]) -> Any:
        pytest.skip("photometer.ab compares within one environment")

    def result(self) -> Any:
        return None


def names_of_setup(call: Call) -> dict[str, Any]:
    """Return the names that make a set-up's arguments before each block; none without a set-up."""
    if call.setup is None:
        return {}
    made = MadeArguments(call)
    return {NEXT_ARGUMENTS: made.next, BEFORE_BLOCK: made.make}


class MadeArguments:
    """Arguments that a set-up has made before the clock starts: as many as there are runs in a block."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._ready: deque[Arguments] = deque()

    def make(self, number: int) -> None:
        self._ready.extend(self._call.new_arguments() for _ in range(number - len(self._ready)))

    def next(self) -> Arguments:
        return self._ready.popleft() if self._ready else self._call.new_arguments()
