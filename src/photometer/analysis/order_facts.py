"""OrderFacts: everything in a results file about one variant of a benchmark: times, work, metrics, phases, energy.

In: the records of a run. Out: one OrderFacts per order, in the order of the file. Rates, curves and the long table are
made from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from photometer.errors import MeasurementError
from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.measurement import Measurement
from photometer.model.order_name import OrderName, name_of_record, order_id_of
from photometer.model.records import from_record
from photometer.model.run_figures import EnergyOfRun, ObservedMetrics, PhaseTimes, RankTimes, WorkOfRun


@dataclasses.dataclass(frozen=True, kw_only=True)
class OrderFacts(OrderName):
    """`seconds` is the median with its interval; of an order on a device, the time there."""

    id: str
    seconds: float | None = None
    low: float | None = None
    high: float | None = None
    work: WorkOfRun | None = None
    metrics: ObservedMetrics | None = None
    phases: PhaseTimes | None = None
    energy: EnergyOfRun | None = None
    rank_times: RankTimes | None = None


def collect_facts(records: Iterable[Mapping[str, Any]]) -> list[OrderFacts]:
    """Return the facts of every order that has any; records without an order are skipped."""
    found: dict[str, OrderFacts] = {}
    for record in records:
        order = record.get("order")
        if record["kind"] in _READERS and isinstance(order, Mapping) and isinstance(order.get("label"), Sequence):
            before = found.get(order_id_of(record)) or facts_of_order(order)
            found[before.id] = dataclasses.replace(before, **_READERS[record["kind"]](record, before))
    return list(found.values())


def facts_of_order(order: Mapping[str, Any]) -> OrderFacts:
    """Return the facts in the order itself: label, variant and sizes."""
    name = name_of_record(order)
    return OrderFacts(
        **{field.name: getattr(name, field.name) for field in dataclasses.fields(name)}, id=str(order.get("id", ""))
    )


def _time(record: Mapping[str, Any], before: OrderFacts) -> dict[str, Any]:
    measurement = from_record(Measurement, record)
    if before.seconds is not None and before.device != "cpu":
        return {}
    try:
        low, high = measurement.interval_seconds
        return {"seconds": measurement.seconds, "low": low, "high": high}
    except MeasurementError:
        return {}


def _device_time(record: Mapping[str, Any], before: OrderFacts) -> dict[str, Any]:
    hot = from_record(DeviceMeasurement, record).hot
    return (
        {"seconds": hot.median, "low": hot.interval_seconds[0], "high": hot.interval_seconds[1]} if hot.measured else {}
    )


_READERS: dict[str, Any] = {
    Measurement.KIND: _time,
    DeviceMeasurement.KIND: _device_time,
    WorkOfRun.KIND: lambda record, before: {"work": from_record(WorkOfRun, record)},
    ObservedMetrics.KIND: lambda record, before: {"metrics": from_record(ObservedMetrics, record)},
    PhaseTimes.KIND: lambda record, before: {"phases": from_record(PhaseTimes, record)},
    RankTimes.KIND: lambda record, before: {"rank_times": from_record(RankTimes, record)},
    EnergyOfRun.KIND: lambda record, before: {"energy": from_record(EnergyOfRun, record)},
}
