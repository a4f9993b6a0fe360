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
import signal
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ..worker.child import BEFORE_BLOCK
from ..worker.child_life import fork_with_threads, live_as_child, out_of_reach, read_nothing_from, serve_requests
from ..worker.fork_hazards import accelerator_was_started, has_native_threads
from ..worker.messages import encode_reply
from ..worker.protocol import Disconnected, receive_message, send_message
from ..worker.seeds import seed_everything
from ..worker.server import CONTROL, STATUS, dying_with, greeting, leave
from ..worker.valgrind_requests import running_on_valgrind, start_instrumentation, stop_instrumentation
from .fixtures import NEXT_ARGUMENTS, Arguments, BenchmarkFixtures, Call, Fixtures, Stats, statement_of
from .options import Asked, add_hooks, add_options, register_marks, replace_pytest_benchmark
from .stop_messages import FORK, GO_ON, Ended, SideSettings, Stopped

# Kept from the end of a report, which says what failed.
MOST_CHARACTERS = 20_000
# Of the processor: after so much of a test under Valgrind, turning instrumentation off and on again is quicker.
LONG_SECONDS = 2.0
# In the place of descriptors that this process has left to its parent.
GONE = -1
# Options that the near side has already handled, or that must not take effect twice.
NEUTRAL_OPTIONS = {"xmlpath": None, "maxfail": 0, "usepdb": False, "trace": False, "tbstyle": "short"}


def main(channel: int, lifeline: int, folder: str) -> None:
    """Run the server for these descriptors and this folder. Never return."""
    sys.argv[:] = ["pytest"]
    # What the zygote has imported stays frozen: collecting it again at each stop would take a tenth of a second.
    gc.enable()
    send_message(channel, encode_reply(greeting()))
    try:
        settings = SideSettings(**receive_message(channel))
    except Disconnected:
        leave(folder)
    _run_tests(Line(channel, lifeline, folder), settings)
    sys.stdout.flush()
    sys.stderr.flush()
    leave(folder)


def _run_tests(line: Line, settings: SideSettings) -> None:
    os.chdir(settings.folder)
    sys.path += [folder for folder in settings.path if folder not in sys.path]
    side = Side(line, settings.tests, settings.seed)
    # For what modules draw when they are imported.
    side.seed()
    # Another version of photometer may be installed here.
    given = [*settings.arguments, "-p", "no:photometer", "--capture=no", "--continue-on-collection-errors"]
    # Plugins were imported before pytest could look at their assertions, which nobody needs to know.
    given += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
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
        read_nothing_from(CONTROL)
        self.channel, self.lifeline = out_of_reach(channel), out_of_reach(lifeline)
        self._watch = contextlib.ExitStack()
        self._is_forking = False
        self._instrumented = Instrumentation().needed if running_on_valgrind() else contextlib.nullcontext
        os.register_at_fork(after_in_child=self._leave_to_parent)

    def _leave_to_parent(self) -> None:
        """Close the line in a fork that a test has made: if this process dies, nobody else may keep the line open."""
        if not self._is_forking:
            for number in (self.control, self.channel, self.lifeline):
                if number != GONE:
                    os.close(number)
            self.control = self.channel = self.lifeline = GONE

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
        if self.channel == GONE:
            # A fork that a test has made and that came back to pytest: the tests are its parent's.
            os._exit(1)
        send_message(self.channel, encode_reply(event))

    def serve(self, stopped: Stopped, names: dict[str, Any], threads: int) -> bool:
        """Serve requests about a stopped test. Return whether it may go on; False if the near side is gone."""
        # A child moves the lifeline's signal to itself.
        self._watch.close()
        with _collector_off(), self._instrumented():
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
        self._is_forking = True
        pid = fork_with_threads()
        self._is_forking = False
        if pid == 0:
            # Nobody traverses what the session has created.
            gc.freeze()
            live_as_child(self._take_line, names)
        _, status = os.waitpid(pid, 0)
        os.write(self.control, STATUS.pack(pid, status, 0))

    def _take_line(self) -> tuple[int, int]:
        os.close(self.control)
        self.control = GONE
        return self.channel, self.lifeline


@contextlib.contextmanager
def _collector_off() -> Any:
    """Collect what is garbage now, and nothing until the test goes on: every fork starts without garbage."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Instrumentation:
    """Callgrind's instrumentation: on where a test has stopped, and off in a test that takes long to get there.

    Each switch forgets all translated code, which takes half a second and has to be translated again; code that is
    instrumented is several times slower. So it stays on between tests, and only a timer turns it off.
    """

    def __init__(self) -> None:
        self._is_on = False

    @contextlib.contextmanager
    def needed(self) -> Any:
        """Have it on during the block."""
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        if not self._is_on:
            start_instrumentation()
            self._is_on = True
        try:
            yield
        finally:
            signal.signal(signal.SIGVTALRM, self._turn_off)
            signal.siginterrupt(signal.SIGVTALRM, False)
            signal.setitimer(signal.ITIMER_VIRTUAL, LONG_SECONDS)

    def _turn_off(self, *_: object) -> None:
        stop_instrumentation()
        self._is_on = False


def must_not_fork(threads: int) -> bool:
    """Return whether a fork would fail or hang because of an accelerator, or of threads that torch's pool waits for."""
    if running_on_valgrind():
        return False
    return accelerator_was_started() or (threads > 1 and has_native_threads())


class Side:
    """The plugin of a side: runs the requested tests in order, and stops each where it measures."""

    def __init__(self, line: Line, tests: Sequence[str], seed: int | None = None) -> None:
        self._line = line
        self._tests = list(tests)
        self._seed = seed
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
        replace_pytest_benchmark(config)
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
        # Before its fixtures: a test has made its data when it stops, and both sides must have the same.
        self.seed()

    def seed(self) -> None:
        seed_everything(self._seed, sys.modules.get("torch"), devices=not running_on_valgrind())

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
