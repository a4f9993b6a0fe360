"""Rates and energy of a run as text: GFLOP/s, GB/s, the share of what this machine can do, joules per run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from photometer.analysis.order_facts import OrderFacts
from photometer.analysis.rates import Rate
from photometer.model.work_of_run import MachinePeak
from photometer.report.text_columns import text_columns

DERIVED = "~"
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"))


def render_rates(rates: Sequence[Rate], peaks: Sequence[MachinePeak], width: int) -> str:
    """Return the table of rates, and below it what they are compared with. Nothing if there are none."""
    if not rates:
        return ""
    heads = ("rates", "FLOPs", "GFLOP/s", "bytes", "GB/s", "of the peak", "bound")
    lines = text_columns(heads, [rate_cells(rate) for rate in rates], width)
    lines += [f"peak: {peak_text(peak)}" for peak in peaks]
    if any(rate.is_derived for rate in rates):
        lines.append(f"{DERIVED} counted in one run: FLOPs by torch's counter, bytes of inputs and outputs.")
    beyond = {rate.bound for rate in rates if (rate.share_of_peak or 0.0) > 1.0}
    if "memory" in beyond:
        lines.append("More than 100 %: the data came from a cache, which is faster than the memory that was measured.")
    if "compute" in beyond:
        lines.append("More than 100 %: the peak was measured on a busy machine; `photometer peaks --again` repeats it.")
    return "\n".join(["", *lines]) + "\n"


def rate_cells(rate: Rate) -> tuple[str, ...]:
    """Return the title, FLOPs, GFLOP/s, bytes, GB/s, the share of the peak and the bound."""
    work = rate.work
    share = rate.share_of_peak
    return (
        rate.facts.title,
        _amount(work.flops, "", work.flops_given),
        "" if rate.flops_per_second is None else digits(rate.flops_per_second / 1e9),
        _amount(work.bytes, "B", work.bytes_given),
        "" if rate.bytes_per_second is None else digits(rate.bytes_per_second / 1e9),
        "" if share is None else f"{100 * share:.{0 if share >= 0.1 else 1}f} %",
        rate.bound or "",
    )


def _amount(value: float | None, unit: str, given: bool) -> str:
    return "" if value is None else ("" if given else DERIVED) + with_prefix(value, unit)


def peak_text(peak: MachinePeak) -> str:
    """Return `cpu, 1 thread, float32: 48.2 GFLOP/s, 9.81 GB/s (AMD EPYC, 2 cores; 2026-01-31)`."""
    threads = "" if peak.device != "cpu" else f", {peak.num_threads} thread{'' if peak.num_threads == 1 else 's'}"
    rates = f"{with_prefix(peak.flops_per_second, 'FLOP/s')}, {with_prefix(peak.bytes_per_second, 'B/s')}"
    return f"{peak.device}{threads}, {peak.dtype}: {rates} ({'; '.join(x for x in (peak.machine, peak.date) if x)})"


def render_energy(facts: Sequence[OrderFacts], width: int) -> str:
    """Return joules per run with what the counter's steps leave unknown, and the power drawn."""
    rows = [
        (
            each.title,
            with_prefix(each.energy.joules_per_run, "J"),
            f"± {with_prefix(each.energy.resolution_joules, 'J')}",
            f"{each.energy.watts:.0f} W",
            f"{each.energy.idle_watts:.0f} W",
        )
        for each in facts
        if each.energy is not None
    ]
    if not rows:
        return ""
    return "\n".join(["", *text_columns(("energy", "per run", "resolution", "drawn", "idle"), rows, width)]) + "\n"


def with_prefix(value: float, unit: str) -> str:
    """Return three digits with a prefix: 2.15 GFLOP/s, 786 kB."""
    scale, prefix = next(((s, p) for s, p in _PREFIXES if abs(value) >= s), _PREFIXES[-1])
    return f"{digits(value / scale)} {prefix}{unit}".rstrip()


def digits(value: float) -> str:
    """Return three significant digits without an exponent."""
    if value == 0:
        return "0"
    leading = math.floor(math.log10(abs(value))) + 1
    return f"{value:,.{min(max(3 - leading, 0), 6)}f}"
