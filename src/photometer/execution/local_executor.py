"""LocalExecutor: does the work on this machine, in children of one session.

Each piece of work is done by the thread that asks, on the cores that it names: the thread and the server it uses are
kept to them, so that whatever either starts runs there too.
"""

from __future__ import annotations

from types import TracebackType

from photometer.errors import PhotometerError
from photometer.execution.build_process import Builder
from photometer.execution.compile_order import compile_order
from photometer.execution.executor import (
    BuildSnippets,
    Describe,
    Done,
    Failure,
    MeasureOrder,
    ScriptModel,
    Step,
    Work,
)
from photometer.execution.measure_order import count_order, measure_on_device, run_once
from photometer.execution.memory_order import memory_order
from photometer.execution.prepare import script_model
from photometer.execution.visit_order import visit_order
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.session.cores import on_cores
from photometer.session.session import Session


class LocalExecutor:
    """Use as a context manager, or call `close`; the session is closed with it. `stop` ends everything at once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._counter = InstructionCounter(session)
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
            return self._builder.build(work)
        if isinstance(work, MeasureOrder):
            return self._measure(work)
        if isinstance(work, ScriptModel):
            script_model(self.session, work)
            return Done()
        assert isinstance(work, Describe)
        return Done(facts=self.session.facts())

    def _measure(self, work: MeasureOrder) -> Done:
        if work.step is Step.TIME:
            visited = visit_order(self.session, work)
            self._seconds_per_run[work.ready.order.id] = min(visited["block_seconds"]) / visited["number_per_run"]
            return Done(visited)
        if work.step is Step.COUNT:
            seconds = self._seconds_per_run.get(work.ready.order.id)
            return Done(count_order(self._counter, work.ready, work.repeats, work.cores, seconds_per_run=seconds))
        if work.step is Step.MEMORY:
            return Done(memory_order(self.session, work.ready, work.cores))
        if work.step is Step.COMPILE:
            return Done(compile_order(self.session, work.ready, work.cores))
        if work.step is Step.DEVICE:
            return Done(measure_on_device(self.session, work.ready, work.min_run_time, work.cores))
        run_once(self.session, work.ready, path=work.path, folder=work.folder, cores=work.cores)
        return Done()

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
