"""Rates: how much a statement does per second, and how near that is to the peak of the machine.

In: the facts of orders and the machine's peaks. Out: a Rate per order that has work and a time. The bound is that of
the roofline: with few FLOPs per byte, a statement waits for memory, otherwise for arithmetic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from photometer.analysis.order_facts import OrderFacts
from photometer.model.records import from_record
from photometer.model.run_figures import MachinePeak, WorkOfRun

Bound = Literal["compute", "memory"]


@dataclasses.dataclass(frozen=True)
class Rate:
    """One order: its work, and rates by its median time. An unknown value is None."""

    facts: OrderFacts
    seconds: float
    work: WorkOfRun
    peak: MachinePeak | None = None

    @property
    def flops_per_second(self) -> float | None:
        return None if self.work.flops is None else self.work.flops / self.seconds

    @property
    def bytes_per_second(self) -> float | None:
        return None if self.work.bytes is None else self.work.bytes / self.seconds

    @property
    def intensity(self) -> float | None:
        """FLOPs per byte."""
        if self.work.flops is None or not self.work.bytes:
            return None
        return self.work.flops / self.work.bytes

    @property
    def bound(self) -> Bound | None:
        """Return the limit by the roofline; without FLOPs it is memory."""
        if self.peak is None:
            return None
        if self.work.flops is None:
            return "memory"
        if self.intensity is None:
            return "compute"
        ridge = self.peak.flops_per_second / self.peak.bytes_per_second
        return "memory" if self.intensity < ridge else "compute"

    @property
    def share_of_peak(self) -> float | None:
        """The share of what the roofline allows: above 1 if the data came from a cache, which no copy can reach."""
        if self.peak is None:
            return None
        if self.bound == "memory" and self.bytes_per_second is not None:
            return self.bytes_per_second / self.peak.bytes_per_second
        return None if self.flops_per_second is None else self.flops_per_second / self.peak.flops_per_second

    @property
    def is_derived(self) -> bool:
        """Whether a number behind the rates was counted, not given by the author."""
        work = self.work
        return (work.flops is not None and not work.flops_given) or (work.bytes is not None and not work.bytes_given)


def peaks_in(records: Iterable[Mapping[str, Any]]) -> list[MachinePeak]:
    found = [from_record(MachinePeak, record) for record in records if record["kind"] == MachinePeak.KIND]
    return list(dict.fromkeys(found))


def rates_of(facts: Sequence[OrderFacts], peaks: Sequence[MachinePeak]) -> list[Rate]:
    """Return the rates in the order of the facts. Variants that compute the same share the work of the eager one."""
    shared = {_computation(each): each.work for each in reversed(facts) if each.work is not None}
    rates = []
    for each in facts:
        work = each.work or shared.get(_computation(each))
        if work is None or not each.seconds or (work.flops is None and work.bytes is None):
            continue
        rates.append(Rate(each, each.seconds, work, _peak_for(each, work, peaks)))
    return rates


def _computation(facts: OrderFacts) -> tuple[Any, ...]:
    return facts.label, facts.autograd, facts.sizes


def _peak_for(facts: OrderFacts, work: WorkOfRun, peaks: Sequence[MachinePeak]) -> MachinePeak | None:
    threads = facts.num_threads if facts.device.split(":")[0] == "cpu" else 1
    fitting = [peak for peak in peaks if peak.device == facts.device and peak.num_threads == threads]
    same_type = [peak for peak in fitting if peak.dtype == (work.dtype or "float32")]
    return next(iter(same_type or fitting), None)
