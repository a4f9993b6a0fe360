"""A work order on its accelerator: the table of modes, measured in a child of the environment's server.

In: a server that has not touched the device, and the order. Out: a record of kind "device_measurement". The child loads
photometer from this folder, so that the environment needs none; what goes in and out lies in a private folder.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import photometer
from photometer.execution.measure_order import ReadyOrder
from photometer.execution.order_record import task_spec_of
from photometer.session.fork_server import ForkServer

# Not by the path: that would put all that is installed beside photometer before what the environment has.
LOAD_PHOTOMETER = """\
import importlib.util, sys
if "photometer" not in sys.modules:
    found = importlib.util.spec_from_file_location("photometer", {file!r}, submodule_search_locations=[{folder!r}])
    sys.modules["photometer"] = importlib.util.module_from_spec(found)
    found.loader.exec_module(sys.modules["photometer"])
from photometer.instruments.device.suite_order import measure_from_file
"""

# Five modes, two of them by two sources, a warm-up; and opening the device and attaching the profiler.
MIN_RUN_TIMES = 10
OPENING_SECONDS = 60.0


def measure_on_device(server: ForkServer, ready: ReadyOrder, min_run_time: float) -> dict[str, Any]:
    """Seconds are for each mode; attaching the profiler takes some more in every child."""
    order = ready.order
    package = Path(photometer.__file__).resolve()
    with tempfile.TemporaryDirectory(prefix="photometer-device-") as folder, server.child() as child:
        asked, answered = Path(folder) / "asked.json", Path(folder) / "answered.json"
        request = {
            "order": order.to_json(),
            "task_spec": task_spec_of(order).to_json(),
            "model_path": ready.model_path or "",
            "min_run_time": min_run_time,
        }
        asked.write_text(json.dumps(request), encoding="utf-8")
        child.ask(
            "prepare",
            order.timeout_seconds,
            setup=LOAD_PHOTOMETER.format(file=str(package), folder=str(package.parent)),
            stmt=f"measure_from_file({str(asked)!r}, {str(answered)!r})",
            num_threads=order.args.num_threads,
            device=order.auto.device,
        )
        child.ask("time", order.timeout_seconds + MIN_RUN_TIMES * min_run_time + OPENING_SECONDS, number=1)
        record: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
    return record
