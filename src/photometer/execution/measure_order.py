"""The measurements of one work order in a child: wall time, instruction counts, a single run for its result.

In: a server, the order with the file of its scripted model, and its library where it is C++. Out: records.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from photometer.execution.order_record import task_spec_of
from photometer.execution.remote_blocks import RemoteBlocks
from photometer.instruments.callgrind.call_tree import folded_stacks
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counting_server import CountingServer
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.instruments.stopping import RunFor
from photometer.instruments.wall_time import take_blocks
from photometer.model.measurement import Measurement
from photometer.model.packed_stacks import SMALLEST_SHARE, pack_stacks
from photometer.plan.work_order import WorkOrder
from photometer.session.fork_server import ForkServer


@dataclasses.dataclass(frozen=True)
class ReadyOrder:
    """An order with all that it needs to run."""

    order: WorkOrder
    model_path: str | None = None
    built: BuiltSnippet | None = None

    @property
    def setup(self) -> str:
        return self.order.with_model_path(self.model_path or "").args.setup

    def preparation(self, *, device_time: bool = False) -> dict[str, Any]:
        """The fields of `prepare`. With `device_time` an accelerator times its orders itself."""
        args = self.order.args
        fields: dict[str, Any] = {"num_threads": args.num_threads}
        if self.order.auto.on_device:
            fields |= {"device": self.order.auto.device, "device_time" if device_time else "synchronize": True}
        if self.built is not None:
            return fields | {"language": "cpp", "library": str(self.built.library), "symbol": self.built.symbol}
        return fields | {"stmt": args.stmt, "setup": self.setup}


def time_order(server: ForkServer, ready: ReadyOrder, min_run_time: float) -> dict[str, Any]:
    """Blocks until `min_run_time` seconds are measured; the time limit is for all of it."""
    order = ready.order
    deadline = time.monotonic() + order.timeout_seconds
    with server.child() as child:
        prepared = child.ask("prepare", order.timeout_seconds, warmup_runs=1, **ready.preparation())
        blocks = RemoteBlocks(child, max(deadline - time.monotonic(), 0.0))
        taken = take_blocks(
            blocks.time_block, RunFor(min_run_time), clock=time.perf_counter, min_run_time=min_run_time, watch=blocks
        )
    metadata = {"compile_seconds": prepared["compile_seconds"]} if "compile_seconds" in prepared else None
    spec = task_spec_of(order)
    return Measurement(taken.number_per_run, taken.block_seconds, spec, metadata, taken.conditions).to_json()


def count_order(server: CountingServer, ready: ReadyOrder, repeats: int) -> dict[str, Any]:
    spec = task_spec_of(ready.order)
    task = CountTask(
        dataclasses.replace(spec, setup=ready.setup),
        built=ready.built,
        repeats=repeats,
        timeout_seconds=ready.order.timeout_seconds,
    )
    counted = server.count(task)
    counts = counted.instruction_counts()
    # For the report's icicle chart: 20 ms and some 10 KB a statement.
    stacks = folded_stacks(counted.profiles[counts.stable_repeat], smallest_share=SMALLEST_SHARE)
    return {**dataclasses.replace(counts, task_spec=spec).to_json(), "stacks": pack_stacks(stacks)}


def run_once(server: ForkServer, ready: ReadyOrder, path: tuple[str, ...], folder: str = "") -> None:
    """One run in `folder`, for what it leaves behind there: a probe's result. `path` is what it imports from."""
    with server.child() as child:
        child.ask("prepare", ready.order.timeout_seconds, path=list(path), folder=folder, **ready.preparation())
        child.ask("time", ready.order.timeout_seconds, number=1)
