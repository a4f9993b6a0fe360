"""The table of modes, measured in a child of a session: for a suite's orders, and for C++, which may crash."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import photometer
from photometer.errors import DefinitionError
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.instruments.declaration import Asked, Beside, Instrument
from photometer.instruments.device.options import DeviceOptions
from photometer.instruments.ready_order import kind_of, preparation_of, task_spec_of
from photometer.instruments.visit import WALL
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.records import from_record
from photometer.model.task import TaskSpec
from photometer.session.child_process import LONGEST_REQUEST_SECONDS, ChildProcess
from photometer.session.session import Session
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
    timeout_seconds: float = LONGEST_REQUEST_SECONDS,
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
        visible_devices=prepare.visible_devices,
        seed=prepare.seed,
    )
    longest = options.min_run_time if options.precision is None else options.max_run_time
    modes = child.ask(request, timeout_seconds + MIN_RUN_TIMES * longest + OPENING_SECONDS)
    return dataclasses.replace(from_record(DeviceMeasurement, modes.measurement), task_spec=task_spec)


def modes_of_built(
    built: BuiltSnippet,
    task_spec: TaskSpec,
    device: str | None,
    options: DeviceOptions,
    *,
    seed: int | None = None,
) -> DeviceMeasurement:
    """Measure a C++ statement in a child of this process's session."""
    prepare = Prepare(
        library=str(built.library),
        symbol=built.symbol,
        num_threads=task_spec.num_threads,
        device=device or "",
        seed=seed,
    )
    with process_session().child() as child:
        return modes_in_child(child, prepare, task_spec, options)


def measure_on_device(session: Session, asked: Asked) -> DeviceMeasurement:
    """Measure the table of modes in a child. Seconds are per mode; attaching the profiler takes some more."""
    order, cores = asked.order, asked.cores
    if not order.auto.on_device:
        raise DefinitionError(
            "a benchmark for the CPU has no device time",
            remedy='Give the benchmark devices=("cuda",), or measure wall time.',
        )
    prepare = preparation_of(session, asked.ready, cores)
    with session.child(kind_of(order), cores) as child:
        return modes_in_child(
            child,
            prepare,
            task_spec_of(order),
            DeviceOptions(min_run_time=asked.min_run_time),
            timeout_seconds=order.timeout_seconds,
        )


DEVICE_MODES = Instrument(
    name="device",
    doing="timing on the device",
    record=DeviceMeasurement,
    measure=measure_on_device,
    option=WALL,
    # Of ranks, the host's clock knows the slowest; an accelerator knows itself.
    applies=lambda order, options: order.auto.on_device and not order.auto.ranks,
    beside=Beside.OTHER_CORES,
    ends_order=True,
    first_guess_seconds=10.0,
)
