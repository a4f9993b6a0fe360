"""StoppingSession: the pytest processes of one side, behind the interface of a Session.

A child is a fork of a process that has stopped at the current test. Each kind of server (lanes, under Valgrind) is a
pytest process, started when first needed and moved from test to test.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from photometer.errors import ProtocolError, SnippetError, WorkerCrashed, WorkerTimeout
from photometer.model.machine import Environment
from photometer.pytest_plugin.session_tree import SideImports
from photometer.pytest_plugin.stop_messages import GO_ON, Ended, SideSettings, Stopped
from photometer.session.child_process import ChildGone
from photometer.session.fork_server import ForkServer
from photometer.session.layout import Layout
from photometer.session.policy import ENVIRONMENT_BYTES, Policy
from photometer.session.session import Server, ServerKind, Session
from photometer.session.zygote import Launch, Zygote
from photometer.worker.messages import BadMessage, Failed, decode_reply
from photometer.worker.protocol import Disconnected, Garbled

FAR_SIDE = Path(__file__).parent / "far_side.py"
# Enough for a test's set-up, ten times slower under Valgrind; a test that hangs must not hang the session.
TEST_SECONDS = 900.0
PADDING = "PHOTOMETER_PADDING"
# Variables of the session itself, and those that would change what a side imports or how it starts.
NOT_PASSED_ON = ("PYTEST_", "COV_", "PYTHON", "PHOTOMETER_", "LD_PRELOAD", "OMP_", "MKL_")


class SidePolicy(Policy):
    """The usual policy, plus the variables that the user's tests may need."""

    def variables(
        self, environment: Environment, layout: Layout, *, under_valgrind: bool, spins: bool = False
    ) -> dict[str, str]:
        fixed = super().variables(environment, layout, under_valgrind=under_valgrind, spins=spins)
        del fixed[PADDING]
        users = {name: value for name, value in sorted(os.environ.items()) if not name.startswith(NOT_PASSED_ON)}
        kept = {name: os.environ[name] for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS") if name in os.environ}
        variables = {**users, **kept, **fixed}
        size = sum(len(os.fsencode(f"{name}={value}")) + 1 for name, value in variables.items())
        variables[PADDING] = "x" * (-size % ENVIRONMENT_BYTES + layout.padding_bytes)
        return variables


class NotReached(SnippetError):
    """The test ended on this side before it measured anything."""

    def __init__(self, ended: Ended) -> None:
        reason = {
            "skipped": f"was skipped: {ended.text}",
            "missing": "could not be collected",
            "passed": "measured nothing",
        }.get(ended.outcome, "failed before it measured anything")
        super().__init__(f"the test {reason}", log=ended.text)
        self.ended = ended


class StoppingServer(ForkServer):
    """One pytest process. `first` is its first test, `at` the one where it has stopped; None while it runs."""

    def __init__(self, launch: Launch, zygote: Zygote, settings: SideSettings) -> None:
        super().__init__(launch, zygote)
        self.first = next(iter(settings.tests), "")
        self.at: Stopped | None = None
        self._ended: dict[str, Ended] = {}
        # It reads them once torch is imported, then collects tests. If it has already ended, waiting for its greeting
        # says why.
        with contextlib.suppress(Disconnected, WorkerTimeout):
            self.send(settings.as_message(), time.monotonic() + TEST_SECONDS)

    def go_to(self, test: str) -> Stopped:
        """Let the process run until it stops at this test. Raise NotReached if the test ends first."""
        while self.at is None or self.at.test != test:
            if test in self._ended:
                raise NotReached(self._ended[test])
            self.go_on()
            self._take_event()
        return self.at

    def go_on(self) -> None:
        """Let the process leave the test where it has stopped, without waiting."""
        if self.at is None:
            return
        self.at = None
        self._messages.clear()
        # The last child's status would be mistaken for the next one's.
        self._child_status = None
        with contextlib.suppress(OSError):
            if self._control is not None:
                self._control.send(GO_ON)

    def wait_for_end(self, test: str) -> Ended:
        """Let the test continue, and return how it ended."""
        if self.at is not None and self.at.test == test:
            self.go_on()
        while test not in self._ended:
            if self.at is not None:
                return Ended(test, "passed")
            self._take_event()
        return self._ended[test]

    def _take_event(self) -> None:
        try:
            message = self.receive(time.monotonic() + TEST_SECONDS)
            kind = Stopped if message.get("event") == "stopped" else Ended
            event = decode_reply(kind, message)
        except WorkerTimeout:
            self.give_up()
            raise WorkerTimeout(
                f"a test neither ended nor reached its benchmark within {TEST_SECONDS:g} s",
                log=self.output(),
                remedy="Look for a deadlock, or for a fixture that waits for something.",
            ) from None
        except (ChildGone, Disconnected):
            self.give_up()
            raise WorkerCrashed(
                "the side's pytest ended",
                exit_status=self.exit_status,
                log=self.output(),
                remedy="See its output; check that pytest and what the tests import are installed there.",
            ) from None
        except (Garbled, BadMessage) as error:
            self.give_up()
            raise ProtocolError(f"the side's pytest sent an invalid message: {error}", log=self.output()) from error
        if isinstance(event, Stopped):
            self.at = event
        elif isinstance(event, Ended):
            self._ended[event.test] = event
        else:
            assert isinstance(event, Failed)
            raise ProtocolError(f"the side's pytest failed: {event.message}", log=event.traceback)


class StoppingSession(Session):
    """The session of one side, for the tests of its settings in their order; `move_to` selects the current test."""

    def __init__(self, environment: Environment, settings: SideSettings, imports: SideImports | None = None) -> None:
        super().__init__(environment, SidePolicy(), start=self._start_stopping)
        self._settings = settings
        self._imports = imports or SideImports()
        self.test = settings.tests[0] if settings.tests else ""

    def move_to(self, test: str) -> None:
        self.test = test

    @contextlib.contextmanager
    def server(self, kind: ServerKind = ServerKind(), cores: Sequence[int] = ()) -> Iterator[Server]:  # noqa: B008
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(super().server(kind, cores))
            assert isinstance(server, StoppingServer)
            if server.first != self.test:
                try:
                    server.go_to(self.test)
                except (WorkerCrashed, WorkerTimeout):
                    # Perhaps in a test before this one, which is no failure of this one: a new process starts here.
                    stack.close()
                    server = stack.enter_context(super().server(kind, cores))
                    assert isinstance(server, StoppingServer)
            server.go_to(self.test)
            yield server

    def stopped(self) -> Stopped:
        """Return where the timing process has stopped: at the current test."""
        with self.server() as server:
            assert isinstance(server, StoppingServer)
            assert server.at is not None
            return server.at

    def finish(self) -> Ended:
        """Let all processes leave the current test, and return how it ended in one without Valgrind."""
        with self._lock:
            idle = [(kind, server) for kind, servers in self._idle.items() for server in servers if server.alive]
        timing = None
        for kind, server in idle:
            if isinstance(server, StoppingServer) and server.at is not None and server.at.test == self.test:
                server.go_on()
                timing = server if kind.counting is None and timing is None else timing
        return Ended(self.test, "passed") if timing is None else timing.wait_for_end(self.test)

    def launch(self, kind: ServerKind) -> Launch:
        pytests = self._with_shared_imports(dataclasses.replace(kind, imports=self._imports.of_pytest))
        kind = self._with_shared_imports(dataclasses.replace(kind, imports=self._imports.of_tests))
        return dataclasses.replace(
            super().launch(kind), program=str(FAR_SIDE), first_imports=pytests.imports, translate="", fresh=False
        )

    def _start_stopping(self, launch: Launch) -> StoppingServer:
        # A process that starts later does not need the tests before.
        tests = self._settings.tests
        left = tests[tests.index(self.test) :] if self.test in tests else tests
        settings = dataclasses.replace(self._settings, tests=left)
        server = self.zygotes.start(launch, lambda zygote: StoppingServer(launch, zygote, settings))
        assert isinstance(server, StoppingServer)
        return server
