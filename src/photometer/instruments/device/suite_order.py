"""A suite's work order on its device: the same table of modes that a Timer gives, for benchmarks with `devices=`.

In: a Python order whose device is an accelerator. Out: its DeviceMeasurement. Runs in this process, which opens the
device: servers that are to be forked from must be other processes.
"""

from __future__ import annotations

import json
from pathlib import Path

from photometer.errors import DefinitionError
from photometer.instruments.device.measure import measure_text
from photometer.instruments.device.options import DeviceOptions
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.language import Language
from photometer.model.task import TaskSpec
from photometer.plan.work_order import WorkOrder


def measure_from_file(asked: str, answered: str) -> None:
    """The far side of execution/device_order: reads what is asked and writes the measurement's record."""
    request = json.loads(Path(asked).read_text(encoding="utf-8"))
    order = WorkOrder.from_json(request["order"])
    options = DeviceOptions(min_run_time=request["min_run_time"])
    spec = TaskSpec.from_json(request["task_spec"])
    measured = measure_order(order, spec, options, model_path=request["model_path"])
    Path(answered).write_text(json.dumps(measured.to_json()), encoding="utf-8")


def measure_order(
    order: WorkOrder, task_spec: TaskSpec, options: DeviceOptions | None = None, *, model_path: str = ""
) -> DeviceMeasurement:
    """`model_path` is the file of the order's scripted model, where it has one."""
    device = order.auto.device
    if device == "cpu":
        raise DefinitionError(
            "a device measurement of an order for the CPU was asked for",
            remedy='Give the benchmark devices=("cuda",), or measure wall time.',
        )
    if order.args.language is not Language.PYTHON:
        raise DefinitionError("device time is measured of Python statements", remedy="Wrap the C++ in an operator.")
    import torch

    from photometer.worker.threads import set_torch_threads

    setup = order.with_model_path(model_path).args.setup
    with set_torch_threads(order.args.num_threads):
        return measure_text(order.args.stmt, setup, {"torch": torch}, task_spec, device, options or DeviceOptions())
