"""The table of device modes, measured in this child by photometer's own instruments.

They are loaded from the near side's package, by its file: the environment need not have photometer installed, and
nothing that lies beside the package gets onto the path before what the environment has.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import Any

from .compile_report import use_compile_cache
from .figure_messages import DeviceModes, MeasureDevice
from .seeds import seed_everything


def measure_modes(request: MeasureDevice) -> DeviceModes:
    if request.compile_cache:
        use_compile_cache(request.compile_cache)
    load_package("photometer", request.package)
    measure: Any = importlib.import_module("photometer.instruments.device.measure")
    options: Any = importlib.import_module("photometer.instruments.device.options")
    task: Any = importlib.import_module("photometer.model.task")
    records: Any = importlib.import_module("photometer.model.records")
    import torch

    torch.set_num_threads(request.num_threads)
    spec = task.TaskSpec(request.stmt, request.setup, num_threads=request.num_threads)
    device, asked = request.device or None, options.DeviceOptions(**request.options)
    seed_everything(request.seed, torch)
    if request.library:
        measurement = measure.measure_native(request.library, request.symbol, spec, device, asked)
    else:
        measurement = measure.measure_text(request.stmt, request.setup, {"torch": torch}, spec, device, asked)
    return DeviceModes(records.to_record(measurement))


def load_package(name: str, init_file: str) -> None:
    """Make the package of this file importable, unless one of that name is there already."""
    if name in sys.modules:
        return
    folder = os.path.dirname(init_file)  # noqa: PTH120  # the worker keeps to what it has imported
    spec = importlib.util.spec_from_file_location(name, init_file, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(f"{init_file} is not a Python package")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
