"""LocalExecutor: does the work on this machine, in children of one session.

Each piece of work is done by the thread that asks for it, on the cores that it names. The thread and its server are
pinned to these cores, so that any process or thread that they start runs there too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Mapping
from types import TracebackType

from photometer.errors import PhotometerError
from photometer.execution.build_process import Builder
from photometer.execution.executor import BuildSnippets, Describe, Done, Failure, MeasureOrder, ScriptModel, Work
from photometer.execution.prepare import script_model
from photometer.instruments.callgrind.counter import COUNTS
from photometer.instruments.ready_order import run_once
from photometer.model.records import to_record
from photometer.model.visit import Visit
from photometer.session.cores import on_cores
from photometer.session.session import Session

# A build that takes longer than this finds not everything in the cache, and so takes long enough to start a server.
FROM_CACHE_SECONDS = 2.0


class LocalExecutor:
    """Use as a context manager, or call `close`; the session is closed with it. `stop` ends everything at once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._builder = Builder()
        # What was timed here: how many runs fit a count's time limit depends on it.
        self._seconds_per_run: dict[str, float] = {}

    def execute(self, work: Work) -> Done | Failure:
        try:
            with on_cores(work.cores):
                return self._do(work)
        except PhotometerError as error:
            return Failure.of(error)

    def _do(self, work: Work) -> Done | Failure:
        if isinstance(work, BuildSnippets):
            return self._build(work)
        if isinstance(work, MeasureOrder):
            return self._measure(work)
        if isinstance(work, ScriptModel):
            script_model(self.session, work)
            return Done()
        assert isinstance(work, Describe)
        return Done(facts=self.session.facts())

    def _build(self, work: BuildSnippets) -> Done | Failure:
        """Compile; if that takes long, start the counting server meanwhile, so that it is ready when this returns."""
        if not work.counts_follow:
            return self._builder.build(work)
        started = threading.Event()

        def start_counting() -> None:
            # If it cannot be started, the first count says why.
            with contextlib.suppress(PhotometerError):
                self.session.start_ahead([COUNTS], work.cores[:1])
                started.set()

        later = threading.Timer(FROM_CACHE_SECONDS, start_counting)
        later.start()
        try:
            outcome = self._builder.build(work)
        finally:
            later.cancel()
            later.join()
        if started.is_set():
            with contextlib.suppress(PhotometerError), self.session.server(COUNTS, work.cores[:1]):
                # What is timed next must not run beside a server that starts.
                pass
        return outcome

    def _measure(self, work: MeasureOrder) -> Done:
        instrument, order_id = work.step.instrument, work.order.id
        if instrument is None:
            run_once(self.session, work.ready, path=work.path, folder=work.folder, cores=work.cores)
            return Done()
        asked = dataclasses.replace(work, seconds_per_run=self._seconds_per_run.get(order_id))
        found = instrument.measure(self.session, asked)
        if isinstance(found, Visit):
            self._seconds_per_run[order_id] = min(found.block_seconds) / found.number_per_run
        return Done(found if found is None or isinstance(found, Mapping) else to_record(found))

    def stop(self) -> None:
        """End everything at once, from any thread: work under way becomes a failure."""
        self.session.kill()
        self._builder.kill()

    def close(self) -> None:
        self.session.close()

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.stop()
        self.close()
