"""A device measurement as text for terminals and logs: a table of modes, the bound, kernels, memory and clocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from photometer.model.device_measurement import MODE_MEANS, ClockReading, DeviceMeasurement, DeviceMode
from photometer.model.units import format_bytes, format_seconds, percent
from photometer.model.visible_text import visible, visible_line
from photometer.report.tables.as_text import render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Row, Table, row_of, table_of
from photometer.report.text_width import shorten_apart

# Names of template kernels have hundreds of characters.
WIDEST_KERNEL_NAME = 72
MODE_COLUMNS = (
    Column("mode", "", Kind.NAME),
    Column("drawn", "", Kind.BAR),
    Column("seconds", "time per run", Kind.TIME, priority=STAYS, digits=4),
    Column("interval", "95 % interval", Kind.TIME, digits=4),
    Column("source", "taken from", Kind.WORDS, priority=2),
)
MOST_KERNELS = 5


def render_device(measurement: DeviceMeasurement) -> str:
    """Return a device measurement as text: a row per mode, what bounds it, kernels, warnings."""
    return "\n".join(_lines(measurement)) + "\n"


def _lines(m: DeviceMeasurement) -> Iterator[str]:
    yield visible(m.task_spec.summarize())
    yield f"  on {visible(m.device_name)}"
    yield ""
    yield from render_text(table_of_modes(m.modes), indent="  ").splitlines()
    yield ""
    yield f"  {m.bound}"
    yield from _rates(m)
    yield from _kernels(m)
    if m.memory is not None:
        added = format_bytes(m.memory.added_bytes)
        yield f"  memory: {format_bytes(m.memory.peak_bytes)} at most, {added} of it by the statement"
    yield from _clocks([reading for mode in m.modes for reading in mode.clocks])
    for warning in m.warnings:
        yield f"  WARNING: {warning.message}"
        yield f"           {warning.remedy}"


def table_of_modes(modes: Sequence[DeviceMode]) -> Table:
    """Return a row per mode: its time, and the source of that."""
    return table_of(MODE_COLUMNS, [_row(mode) for mode in modes])


def _row(mode: DeviceMode) -> Row:
    means = MODE_MEANS[mode.name]
    if not mode.measured:
        source = f"not measured: {mode.absent_because}" if mode.absent_because else "not measured"
        return row_of({"mode": mode.name.value, "seconds": Cell(text="–"), "source": source}, tip=means)
    source = mode.source.value if mode.source is not None else ""
    if mode.cross_check is not None:
        source += f" ({mode.cross_check.source.value}: {format_seconds(mode.cross_check.seconds_per_run, 4)})"
    return row_of(
        {
            "mode": mode.name.value,
            "drawn": float(mode.seconds),
            "seconds": mode.seconds,
            "interval": mode.interval_seconds
            if math.isfinite(mode.interval_seconds[1])
            else Cell(text="one block only"),
            "source": source,
        },
        tip=means,
    )


def _rates(m: DeviceMeasurement) -> Iterator[str]:
    """Yield rates at the hot and at the cold time, as shares of the card's measured peaks."""
    peak = m.peak
    for mode in (m.hot, m.cold):
        if not mode.measured:
            continue
        parts = []
        if m.bytes_per_run:
            rate = m.bytes_per_run / mode.median
            parts.append(f"{rate / 1e9:.0f} GB/s" + _share(rate, peak.bytes_per_second if peak else None, "copy"))
        if m.flops_per_run:
            rate = m.flops_per_run / mode.median
            what = f"{peak.flops_dtype} product" if peak else ""
            parts.append(f"{rate / 1e12:.1f} TFLOP/s" + _share(rate, peak.flops_per_second if peak else None, what))
        if parts:
            yield f"  {mode.name.value}: {', '.join(parts)}"


def _share(rate: float, best: float | None, what: str) -> str:
    return f" ({percent(rate / best)} of this card's best {what})" if best else ""


def _kernels(m: DeviceMeasurement) -> Iterator[str]:
    if m.kernels is None:
        return
    count, others = m.kernels_per_run or 0.0, m.copies_and_fills_per_run or 0.0
    text = f"{count:g} kernel{'' if count == 1 else 's'} per run"
    if others:
        text += f", and {others:g} cop{'y' if others == 1 else 'ies'} or fill{'' if others == 1 else 's'}"
    yield f"  {text}"
    shown = m.kernels[:MOST_KERNELS]
    names = shorten_apart([visible_line(kernel.name) for kernel in shown], WIDEST_KERNEL_NAME)
    for kernel, name in zip(shown, names, strict=True):
        times = f"{kernel.calls_per_run:g} × " if kernel.calls_per_run != 1 else ""
        yield f"    {times}{format_seconds(kernel.seconds_per_run / (kernel.calls_per_run or 1.0), 4)}  {name}"
    if len(m.kernels) > MOST_KERNELS:
        yield f"    and {len(m.kernels) - MOST_KERNELS} more"


def _clocks(readings: Sequence[ClockReading]) -> Iterator[str]:
    parts = [
        _range([r.sm_megahertz for r in readings], "MHz", "SM "),
        _range([r.memory_megahertz for r in readings], "MHz", "memory "),
        _range([r.temperature_celsius for r in readings], "°C"),
        _range([r.power_watts for r in readings], "W"),
    ]
    known = [part for part in parts if part]
    if known:
        yield f"  while measured: {', '.join(known)}"


def _range(values: Sequence[float | None], unit: str, before: str = "") -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    return f"{before}{low:.0f} {unit}" if round(low) == round(high) else f"{before}{low:.0f} to {high:.0f} {unit}"
