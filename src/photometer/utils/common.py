"""What torch.utils.benchmark.utils.common offers: measurements, their tasks, and how times are written."""

from photometer.analysis.table import ordered_unique
from photometer.model.measurement import Measurement
from photometer.model.task import TaskSpec
from photometer.model.units import select_unit, trim_sigfig, unit_to_english
from photometer.worker.threads import set_torch_threads

__all__ = [
    "Measurement",
    "TaskSpec",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "trim_sigfig",
    "unit_to_english",
]
