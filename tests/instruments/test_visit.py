from __future__ import annotations

import time
from pathlib import Path

import pytest

from photometer.definition import GroupedSetup, GroupedStmts
from photometer.errors import DefinitionError, WorkerTimeout
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.instruments.declaration import Asked
from photometer.instruments.device.in_child import measure_on_device
from photometer.instruments.ready_order import ReadyOrder, preparation_of
from photometer.instruments.stopping import RunFor
from photometer.instruments.visit import FETCH_SECONDS, RemoteBlocks
from photometer.instruments.wall_time import take_blocks
from photometer.model.task import Language
from photometer.plan import materialize
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.work_order import WorkOrder
from photometer.worker.figure_messages import MeasureDevice
from photometer.worker.messages import TimeBlocks, TimedBlocks
from tests.session.fake_session import FakeServers

SUITE = {
    "add": GroupedStmts(
        py_stmt="y = x + 1",
        cpp_stmt="auto y = x + 1;",
        setup=GroupedSetup("x = torch.randn(256, device=device)", "auto x = torch::randn({256}).to(device);"),
        devices=("cpu", "cuda"),
    )
}


class FakeChild:
    """A statement of a microsecond; every tenth block is preempted and takes longer."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.killed = False
        self._blocks = 0

    def ask(self, request: TimeBlocks, timeout_seconds: float) -> TimedBlocks:
        self.asked.append((request.number, request.blocks))
        times, preemptions = [], []
        for _ in range(request.blocks):
            self._blocks += 1
            preempted = self._blocks % 10 == 0
            times.append(request.number * 1e-6 + (0.004 if preempted else 0.0))
            preemptions.append(int(preempted))
        return TimedBlocks(times, preemptions, sum(times), sum(times) / 2)

    def kill(self) -> None:
        self.killed = True


def test_blocks_are_fetched_several_at_a_time_and_preempted_ones_set_aside() -> None:
    child = FakeChild()
    blocks = RemoteBlocks(child, 60.0)  # type: ignore[arg-type]
    taken = take_blocks(blocks.time_block, RunFor(0.2), clock=time.perf_counter, min_run_time=0.2, watch=blocks)
    assert max(asked for _, asked in child.asked) > 1
    assert all(number * 1e-6 * asked <= 2 * FETCH_SECONDS for number, asked in child.asked if asked > 1)
    assert set(taken.block_seconds) == {taken.number_per_run * 1e-6}
    assert taken.conditions.preempted_blocks
    assert taken.conditions.preemptions
    assert taken.conditions.cpu_seconds == pytest.approx(taken.conditions.wall_seconds / 2)  # type: ignore[operator]
    assert taken.conditions.loop_overhead_seconds_per_run is None


def test_a_measurement_that_does_not_end_is_given_up() -> None:
    child = FakeChild()
    with pytest.raises(WorkerTimeout, match="--timeout"):
        RemoteBlocks(child, 0.0).time_block(1)  # type: ignore[arg-type]
    assert child.killed


def order(device: str, language: Language) -> WorkOrder:
    (found,) = [o for o in materialize(SUITE) if o.auto.device == device and o.args.language is language]
    return found


def test_device_modes_of_the_cpu_are_refused() -> None:
    session = FakeServers().session()
    with pytest.raises(DefinitionError, match="CPU"):
        measure_on_device(session, Asked(ReadyOrder(order("cpu", Language.PYTHON)), 0.1))


def test_device_modes_of_a_compiled_order_find_what_was_compiled_before() -> None:
    suite = {
        "add": GroupedStmts(
            "y = x + 1",
            setup=GroupedSetup("x = torch.ones(4, device=device)"),
            signature="f(x) -> y",
            devices=("cuda",),
            compiled=True,
        )
    }
    compiled = next(each for each in materialize(suite) if each.auto.runtime is RuntimeMode.COMPILED)
    servers = FakeServers()
    with servers.session() as session:
        measure_on_device(session, Asked(ReadyOrder(compiled), 0.1))
        folder = preparation_of(session, ReadyOrder(compiled)).compile_cache
    asked = [each for server in servers.made for each in server.log if isinstance(each, MeasureDevice)]
    assert [each.compile_cache for each in asked] == [folder]


def test_device_modes_of_cpp_are_asked_of_its_library() -> None:
    servers = FakeServers()
    built = BuiltSnippet(Path("/nowhere/snippets.so"), "snippet_3", cached=True)
    with servers.session() as session:
        measured = measure_on_device(session, Asked(ReadyOrder(order("cuda", Language.CPP), built=built), 0.1))
    (asked,) = [each for server in servers.made for each in server.log]
    assert isinstance(asked, MeasureDevice)
    assert (asked.library, asked.symbol, asked.device) == ("/nowhere/snippets.so", "snippet_3", "cuda")
    assert asked.options["min_run_time"] == 0.1
    assert measured.task_spec.stmt == "auto y = x + 1;"
