"""The table of modes, measured in a child of a session: for a suite's orders, and for C++, which may crash."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import photometer
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.instruments.device.options import DeviceOptions
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.records import from_record
from photometer.model.task import TaskSpec
from photometer.session.child_process import DEFAULT_TIMEOUT_SECONDS, ChildProcess
from photometer.session.shared import process_session
from photometer.worker.figure_messages import MeasureDevice
from photometer.worker.messages import Prepare

# Five device modes, two of them by two sources, and a warm-up; then opening the device and attaching the profiler.
MIN_RUN_TIMES = 10
OPENING_SECONDS = 60.0


def modes_in_child(
    child: ChildProcess,
    prepare: Prepare,
    task_spec: TaskSpec,
    options: DeviceOptions,
    *,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> DeviceMeasurement:
    """Measure the statement of `prepare` on its device, in a fresh child."""
    request = MeasureDevice(
        package=str(Path(photometer.__file__).resolve()),
        stmt=prepare.stmt,
        setup=prepare.setup,
        options=dataclasses.asdict(options),
        device=prepare.device,
        num_threads=prepare.num_threads,
        library=prepare.library,
        symbol=prepare.symbol,
        compile_cache=prepare.compile_cache,
    )
    longest = options.min_run_time if options.precision is None else options.max_run_time
    modes = child.ask(request, timeout_seconds + MIN_RUN_TIMES * longest + OPENING_SECONDS)
    return dataclasses.replace(from_record(DeviceMeasurement, modes.measurement), task_spec=task_spec)


def modes_of_built(
    built: BuiltSnippet, task_spec: TaskSpec, device: str | None, options: DeviceOptions
) -> DeviceMeasurement:
    """Measure a C++ statement in a child of this process's session."""
    prepare = Prepare(
        library=str(built.library), symbol=built.symbol, num_threads=task_spec.num_threads, device=device or ""
    )
    with process_session().child() as child:
        return modes_in_child(child, prepare, task_spec, options)
