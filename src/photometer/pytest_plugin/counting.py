"""CallCounter: instructions of the tests that ask for them, counted in another pytest process under Valgrind.

In: a session's configuration and those tests. Out: InstructionCounts as records. The process starts with the first
such test, which takes half a minute, and stops at each as a side of a comparison does.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import pytest

from photometer.errors import PhotometerError
from photometer.execution.run_file import identified
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.model.machine import Environment
from photometer.model.records import to_record
from photometer.model.task import TaskSpec
from photometer.pytest_plugin.fixtures import Bench
from photometer.pytest_plugin.measuring import order_of
from photometer.pytest_plugin.options import own_id
from photometer.pytest_plugin.session_tree import SessionTree
from photometer.pytest_plugin.stop_messages import Stopped
from photometer.pytest_plugin.stopping_session import StoppingServer, StoppingSession
from photometer.session.session import Counting, ServerKind

COUNTING = ServerKind(counting=Counting())


class NotCounted(UserWarning):
    """A test was measured, but its instructions could not be counted."""


class CallCounter:
    """Counts tests one by one, in the order of the session."""

    def __init__(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        tree = SessionTree.of(config, items, None)
        # The same interpreter and packages; pytest itself finds the folders of the tests.
        environment = dataclasses.replace(Environment.current(), importable=())
        self._session = StoppingSession(environment, tree.settings(None), tree.imports())
        self._counter = InstructionCounter(self._session)
        self._seed = tree.seed

    def count(self, bench: Bench) -> list[dict[str, Any]]:
        """Return the record of a test that has just passed; warn and return none if it cannot be counted."""
        test = own_id(bench.item)
        order = order_of(test, bench.asked, bench.group)
        self._session.move_to(test)
        try:
            stopped = self._stopped()
            spec = TaskSpec(
                stopped.stmt, label=order.label[0], sub_label=order.label[1], num_threads=bench.asked.threads
            )
            counts = self._counter.count(CountTask(spec, seed=self._seed)).instruction_counts()
        except PhotometerError as error:
            warnings.warn(f"{test}: instructions were not counted: {error}", NotCounted, stacklevel=2)
            return []
        spec = dataclasses.replace(spec, stmt=order.args.stmt)
        record = {**to_record(dataclasses.replace(counts, task_spec=spec)), "test": test}
        return [identified(record, order)]

    def close(self) -> None:
        self._session.close()

    def _stopped(self) -> Stopped:
        with self._session.server(COUNTING) as server:
            assert isinstance(server, StoppingServer)
            assert server.at is not None
            return server.at
