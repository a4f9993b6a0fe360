"""An executor that runs nothing: every work succeeds unless told otherwise, and it remembers what ran together."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from photometer.execution.executor import BuildSnippets, Describe, Done, Failure, MeasureOrder, ScriptModel, Work
from photometer.execution.steps import BUILD, COUNT, SCRIPT, TIME, Step
from photometer.instruments.cpp.snippet import BuiltSnippet
from tests.session.fake_session import FACTS as FACTS

# Works that never meet cost a failing test this long.
MEET_SECONDS = 10.0
SPEC = {"stmt": "pass", "setup": "pass"}
FIGURES = {"total": 100, "outside_allocator": 90, "allocator_calls": 1}
RECORDS: dict[Step | None, dict[str, Any]] = {
    # Its blocks differ so much that it is visited as often as usual.
    TIME: {
        "kind": "visit",
        "number_per_run": 1,
        "block_seconds": [1e-6, *[1.05e-6] * 4],
        "whole_seconds": 0.01,
    },
    COUNT: {
        "kind": "instruction_counts",
        "task_spec": SPEC,
        "number_per_run": 1,
        "repeats": [FIGURES],
        "frozen_layout": True,
    },
    Step("device"): {
        "kind": "device_measurement",
        "task_spec": SPEC,
        "device_name": "Fake",
        "device_kind": "cuda",
        "modes": [],
        "bound": "",
    },
}


def error(message: str = "it broke", *, may_pass: bool = False) -> Failure:
    return Failure("E", message, may_pass=may_pass)


def step_of(work: Work) -> Step | None:
    if isinstance(work, MeasureOrder):
        return work.step
    return {ScriptModel: SCRIPT, BuildSnippets: BUILD, Describe: None}[type(work)]


def label_of(work: Work) -> str:
    """The last label of the order that is measured; nothing for other work."""
    return work.ready.order.label[-1] if isinstance(work, MeasureOrder) else ""


class FakeExecutor:
    """`decide(work)` may give another outcome than success. Each work takes `seconds`.

    With `meet`, a work of its first step takes until works of all its steps were in hand at one moment, so a test that
    expects them together depends on no clock. If they never are, it gives up after a while, and the test fails.
    """

    def __init__(
        self,
        decide: Callable[[Work], Done | Failure | None] | None = None,
        seconds: float = 0.0,
        meet: tuple[Step, ...] = (),
    ) -> None:
        self._decide = decide
        self._seconds = seconds
        self._meet = Counter(meet)
        self._waits = meet[0] if meet else None
        self._met = threading.Event()
        self._lock = threading.Lock()
        self._busy: list[Work] = []
        self.works: list[Work] = []
        self.together: list[tuple[tuple[Step | None, tuple[int, ...]], ...]] = []

    def execute(self, work: Work) -> Done | Failure:
        with self._lock:
            self.works.append(work)
            self._busy.append(work)
            self.together.append(tuple((step_of(each), each.cores) for each in self._busy))
            if self._meet <= Counter(step_of(each) for each in self._busy):
                self._met.set()
        time.sleep(self._seconds)
        if self._waits is not None and step_of(work) == self._waits:
            self._met.wait(MEET_SECONDS)
            self._met.set()
        try:
            outcome = self._decide(work) if self._decide is not None else None
            return outcome if outcome is not None else self._success(work)
        finally:
            with self._lock:
                self._busy.remove(work)

    def _success(self, work: Work) -> Done:
        if isinstance(work, Describe):
            return Done(facts=FACTS)
        if isinstance(work, BuildSnippets):
            return Done(outcomes=tuple(BuiltSnippet(Path("/l.so"), "s", cached=False) for _ in work.snippets))
        step = step_of(work)
        return Done(RECORDS[step]) if step in RECORDS else Done()

    def done(self, step: Step) -> list[str]:
        """The labels of the orders of one step, as they came."""
        return [label_of(work) for work in self.works if step_of(work) == step]
