"""OrderFacts: all that a results file knows of one variant of a benchmark: times, work, metrics, phases, energy.

In: the records of a run. Out: one OrderFacts per order, in the order of the file. Rates, curves and the long table are
made from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from photometer.errors import MeasurementError
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.energy import EnergyOfRun
from photometer.model.measurement import Measurement
from photometer.model.observed_run import ObservedMetrics, PhaseTimes
from photometer.model.records import from_record
from photometer.model.work_of_run import WorkOfRun

_USUAL = {"eager", "explicit", "forward", "python", "cpu"}


@dataclasses.dataclass(frozen=True)
class OrderFacts:
    """`seconds` is the median with its interval; of an order on a device, the time there."""

    id: str
    label: tuple[str, ...]
    language: str = "python"
    runtime: str = "eager"
    autograd: str = "forward"
    compile_words: tuple[str, ...] = ()
    num_threads: int = 1
    device: str = "cpu"
    sizes: tuple[tuple[str, Any], ...] = ()
    seconds: float | None = None
    low: float | None = None
    high: float | None = None
    work: WorkOfRun | None = None
    metrics: ObservedMetrics | None = None
    phases: PhaseTimes | None = None
    energy: EnergyOfRun | None = None

    @property
    def variant(self) -> str:
        """What differs from eager, forward, Python, one thread, CPU; without the sizes."""
        words = [self.language.replace("cpp", "C++"), self.runtime, *self.compile_words]
        words += ["backward" if self.autograd == "forward+backward" else self.autograd, self.device]
        words += [f"{self.num_threads} threads"] if self.num_threads > 1 else []
        return ", ".join(word for word in words if word not in _USUAL)

    @property
    def row_words(self) -> tuple[str, ...]:
        """What differs from eager, forward, one thread, CPU; the language is a column, and sizes come after."""
        runtime = () if self.runtime in ("eager", "explicit") else (" ".join((self.runtime, *self.compile_words)),)
        backward = ("backward",) if self.autograd == "forward+backward" else ()
        threads = (f"{self.num_threads} threads",) if self.num_threads > 1 else ()
        return (*runtime, *backward, *threads, *((self.device,) if self.device.split(":")[0] != "cpu" else ()))

    @property
    def title(self) -> str:
        words = [self.variant] if self.variant else []
        words += [f"{name}={value}" for name, value in self.sizes]
        return " › ".join(self.label) + (f" [{', '.join(words)}]" if words else "")


def collect_facts(records: Iterable[Mapping[str, Any]]) -> list[OrderFacts]:
    """Return the facts of every order that has any; records without an order are passed over."""
    found: dict[str, OrderFacts] = {}
    for record in records:
        order = record.get("order")
        if record["kind"] in _READERS and isinstance(order, Mapping) and isinstance(order.get("label"), Sequence):
            before = found.get(str(order.get("id"))) or facts_of_order(order)
            found[before.id] = dataclasses.replace(before, **_READERS[record["kind"]](record, before))
    return list(found.values())


def facts_of_order(order: Mapping[str, Any]) -> OrderFacts:
    """Return what the order itself says: label, variant and sizes."""
    auto = order.get("auto")
    auto = auto if isinstance(auto, Mapping) else {}
    sizes = auto.get("sizes")
    pairs = [each for each in sizes if isinstance(each, Sequence) and len(each) == 2] if isinstance(sizes, list) else []
    threads = auto.get("num_threads", 1)
    return OrderFacts(
        id=str(order.get("id")),
        label=tuple(str(part) for part in order["label"]) or ("unnamed",),
        language=str(auto.get("language", "python")),
        runtime=str(auto.get("runtime", "eager")),
        autograd=str(auto.get("autograd", "forward")),
        compile_words=_compile_words(auto.get("compile")),
        num_threads=threads if isinstance(threads, int) else 1,
        device=str(auto.get("device", "cpu")),
        sizes=tuple((str(name), tuple(value) if isinstance(value, list) else value) for name, value in pairs),
    )


def _compile_words(compiled: object) -> tuple[str, ...]:
    """Return how it was compiled, if not as usual: `reduce-overhead`, `dynamic=True`."""
    if not isinstance(compiled, Mapping):
        return ()
    usual = (None, False, "default", "")
    return tuple(
        str(value) if name == "mode" else f"{name}={value}" for name, value in compiled.items() if value not in usual
    )


def _time(record: Mapping[str, Any], before: OrderFacts) -> dict[str, Any]:
    measurement = from_record(Measurement, record)
    if before.seconds is not None and before.device != "cpu":
        return {}
    try:
        low, high = measurement.interval
        return {"seconds": measurement.seconds, "low": low, "high": high}
    except MeasurementError:
        return {}


def _device_time(record: Mapping[str, Any], before: OrderFacts) -> dict[str, Any]:
    hot = from_record(DeviceMeasurement, record).hot
    return {"seconds": hot.median, "low": hot.interval[0], "high": hot.interval[1]} if hot.measured else {}


_READERS: dict[str, Any] = {
    Measurement.KIND: _time,
    DeviceMeasurement.KIND: _device_time,
    WorkOfRun.KIND: lambda record, before: {"work": from_record(WorkOfRun, record)},
    ObservedMetrics.KIND: lambda record, before: {"metrics": from_record(ObservedMetrics, record)},
    PhaseTimes.KIND: lambda record, before: {"phases": from_record(PhaseTimes, record)},
    EnergyOfRun.KIND: lambda record, before: {"energy": from_record(EnergyOfRun, record)},
}
