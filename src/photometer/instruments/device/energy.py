"""Energy of one run on a GPU: the card's counter before and after some seconds of runs, read through NVML.

The counter has steps of a millijoule, but is updated only every 20 to 100 ms. So some seconds of runs are measured, and
the result states the uncertainty of one update.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from photometer.errors import ToolMissing
from photometer.instruments.declaration import Asked, Beside, Figure, Instrument, Option
from photometer.instruments.device.nvml import started
from photometer.instruments.ready_order import prepared_child, task_spec_of
from photometer.model.run_figures import EnergyOfRun
from photometer.model.task import Language, TaskSpec
from photometer.session.session import Session
from photometer.worker.accelerators import BACKENDS, NVML, listed_devices
from photometer.worker.messages import Spin

# Long compared with the 0.1 s between two updates of the counter.
WORK_SECONDS = 2.0
IDLE_SECONDS = 0.5
# The counter needs this long to include the last run.
UPDATE_SECONDS = 0.1

ReadJoules = Callable[[], float]


def open_energy_counter(number: int = 0, library: Any = None) -> ReadJoules:
    """Return a function that reads the joules drawn since the driver was loaded."""
    library = started(library, without="energy is not measured")
    handle = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle)) != 0:
        raise ToolMissing(f"NVML has no card {number}", remedy="Check that nvidia-smi works.")

    def read_joules() -> float:
        millijoules = ctypes.c_ulonglong()
        status = library.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(millijoules))
        if status != 0:
            raise ToolMissing(
                f"the card does not measure energy: NVML status {status}",
                remedy="Use a card of the Volta generation or later.",
            )
        return millijoules.value / 1000

    return read_joules


def open_energy_of(device: str) -> ReadJoules:
    """Return the counter of one of torch's devices ("cuda:1"), if something here can read it."""
    kind = device.partition(":")[0]
    if not any(backend.kind == kind and backend.sensors == NVML for backend in BACKENDS):
        raise ToolMissing(f"nothing here reads the energy of {kind} devices", remedy="Measure without energy.")
    return open_energy_counter(card_number(os.environ, device))


def card_number(variables: Mapping[str, str], device: str) -> int:
    """Return NVML's number of one of torch's devices: NVML counts all cards, torch those that are not hidden."""
    kind, _, number = device.partition(":")
    (name,) = listed_devices(kind, [int(number or 0)], variables)
    return int(name) if name.isdecimal() else int(number or 0)


def measure_energy(
    spin: Callable[[float], int],
    read_joules: ReadJoules,
    task_spec: TaskSpec,
    *,
    work_seconds: float = WORK_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.perf_counter,
) -> EnergyOfRun:
    """Measure the energy per run. `spin(seconds)` runs the statement for that long and returns the finished runs."""
    start, before = clock(), read_joules()
    sleep(IDLE_SECONDS)
    idle_watts = max(read_joules() - before, 0.0) / max(clock() - start, 1e-9)
    start, before = clock(), read_joules()
    runs = max(spin(work_seconds), 1)
    seconds = clock() - start
    sleep(UPDATE_SECONDS)
    waited = clock() - start - seconds
    joules = max(read_joules() - before - idle_watts * waited, 0.0)
    watts = joules / max(seconds, 1e-9)
    # One update of the counter may be missing, or belong to the time before.
    return EnergyOfRun(task_spec, joules / runs, watts * UPDATE_SECONDS / runs, watts, idle_watts, runs, seconds)


def energy_of_order(session: Session, asked: Asked) -> EnergyOfRun:
    """Measure the energy of an order's runs. Its clock waits for the device, so that what was queued is done then."""
    order = asked.order
    seen = asked.ready.visible_devices
    read_joules = open_energy_of(f"{order.auto.device}:{seen[0]}" if seen else order.auto.device)
    with prepared_child(session, asked.ready, asked.cores, warmup_runs=3) as child:
        return measure_energy(
            lambda seconds: child.ask(Spin(seconds), order.timeout_seconds + seconds).runs,
            read_joules,
            task_spec_of(order),
        )


ENERGY = Instrument(
    name="energy",
    doing="measuring energy",
    record=EnergyOfRun,
    measure=energy_of_order,
    figures=(Figure("joules", "J", of=lambda energy: energy.joules_per_run, exact=False),),
    option=Option("energy", "Measure the energy of a run on a GPU (NVML)."),
    applies=lambda order, options: (
        order.auto.on_device
        and not order.auto.ranks
        and order.args.language is Language.PYTHON
        and order.model_id is None
    ),
    beside=Beside.OTHER_CORES,
    first_guess_seconds=4.0,
)
