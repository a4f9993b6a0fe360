"""A node that measures nothing: what it does is told by variables of the environment that it is asked to be."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from photometer.execution.executor import BuildSnippets, Done, MeasureOrder, Work
from photometer.execution.steps import Step
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.model.machine import Environment, Machine, Node
from photometer.remote.node_worker import NodeFacts, NodeOutcome, NodeRequest, NodeWorker, own_code_digest
from tests.execution.fake_executor import FACTS, RECORDS, label_of, step_of


def environment(**variables: object) -> Environment:
    """Return the environment of a stand-in: SECONDS of each work, KILLER and its FILE, TORCH.

    With a FILE, TORCH is that of the nodes that start when the file is there.
    """
    return Environment("/python", variables=tuple((name, str(value)) for name, value in variables.items()))


class StandIn(NodeWorker):
    def __init__(self, request: NodeRequest, shipped: tuple[str, ...]) -> None:
        self._name, self._core_count, self._gpus = request.name, request.cores, request.gpus
        self._on_device = 0
        self._told = dict(request.environment.variables)

    def hello(self) -> NodeFacts:
        node = Node(self._name, Machine(cpu_model="stand-in"), self._core_count, self._gpus, toolchain="gcc")
        differs = "TORCH" in self._told and ("FILE" not in self._told or Path(self._told["FILE"]).exists())
        facts = _with_torch(self._told["TORCH"]) if differs else FACTS
        return NodeFacts(node, tuple(range(self._core_count)), facts, "", own_code_digest(), os.getpid())

    def execute(self, work: Work, files: Mapping[str, Any]) -> NodeOutcome:
        self._on_device += step_of(work) == Step("device")
        beside = self._on_device
        time.sleep(float(self._told.get("SECONDS", "0")))
        self._on_device -= step_of(work) == Step("device")
        if label_of(work) and label_of(work) == self._told.get("KILLER"):
            self._die()
        if isinstance(work, BuildSnippets):
            built = tuple(BuiltSnippet(Path("/l.so"), f"s{place}", cached=False) for place in range(len(work.snippets)))
            return NodeOutcome(Done(outcomes=built), {"/l.so": b"library"})
        if isinstance(work, MeasureOrder) and work.ready.built is not None:
            assert "/l.so" in files
        record = RECORDS.get(step_of(work))
        if record is None:
            return NodeOutcome(Done())
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        return NodeOutcome(Done({**record, "pid": os.getpid(), "on_device": beside, "devices": visible}))

    def call(self, function: Callable[..., Any], files: Mapping[str, Any], *arguments: Any) -> Any:
        return function(None, *arguments)

    def close(self) -> None:
        pass

    def _die(self) -> None:
        """End this process; with a FILE only if it is not there yet."""
        file = self._told.get("FILE")
        if file is None or not Path(file).exists():
            if file is not None:
                Path(file).touch()
            os._exit(1)


def _with_torch(version: str) -> Any:
    import dataclasses

    return dataclasses.replace(FACTS, torch=version)
