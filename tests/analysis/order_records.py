"""Records of a run as a results file has them, for tests: measurements, work and metrics of made-up orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from photometer.model.measurement import Measurement
from photometer.model.records import to_record
from photometer.model.run_figures import MachinePeak, MetricValues, ObservedMetrics, PhaseSeconds, PhaseTimes, WorkOfRun
from photometer.model.task import TaskSpec

PEAK = MachinePeak("cpu", 1, "float32", 100e9, 10e9, "a processor", "2.13", "2026-01-31")


def order(label: str = "a", sizes: Mapping[str, Any] | None = None, **auto: Any) -> dict[str, Any]:
    named = {"runtime": "eager", "autograd": "forward", "language": "python", "num_threads": 1, "device": "cpu", **auto}
    points = [[name, value] for name, value in (sizes or {}).items()]
    return {"id": f"{label}-{named}-{points}", "label": [label], "auto": {**named, "sizes": points}}


def timed(of: Mapping[str, Any], seconds: float, spread: float = 0.001) -> dict[str, Any]:
    times = [10 * seconds * (1 + spread * (place % 5 - 2)) for place in range(40)]
    return {**to_record(Measurement(10, times, TaskSpec("f(x)"))), "order": dict(of)}


def worked(of: Mapping[str, Any], flops: float | None, bytes: float | None, **fields: Any) -> dict[str, Any]:
    return {**to_record(WorkOfRun(TaskSpec("f(x)"), flops, bytes, **fields)), "order": dict(of)}


def metered(of: Mapping[str, Any], **metrics: tuple[float, ...]) -> dict[str, Any]:
    values = tuple(MetricValues(name, found) for name, found in metrics.items())
    return {**to_record(ObservedMetrics(TaskSpec("f(x)"), values)), "order": dict(of)}


def phased(of: Mapping[str, Any], **seconds: float) -> dict[str, Any]:
    phases = tuple(PhaseSeconds(name, (found,) * 3) for name, found in seconds.items())
    return {**to_record(PhaseTimes(TaskSpec("f(x)"), phases)), "order": dict(of)}


def curve(label: str, seconds_at: Mapping[int, float], **auto: Any) -> list[dict[str, Any]]:
    return [timed(order(label, {"n": n}, **auto), seconds) for n, seconds in seconds_at.items()]
