"""A DeviceMeasurement in a notebook: the table of modes, what bounds it, the kernels and the warnings."""

from __future__ import annotations

import math

from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.device_mode import MODE_MEANS, DeviceMode
from photometer.model.units import format_seconds
from photometer.report.escape import html_lines, html_text
from photometer.report.notebook.look import SOFT, bar, row, table, warning

# Names of template kernels have hundreds of characters; the whole is shown when the mouse rests on it.
WIDEST_KERNEL_NAME = 90
MOST_KERNELS = 8


def device_html(m: DeviceMeasurement) -> str:
    """Return the modes with bars, and below them what else is known."""
    longest = max((mode.seconds for mode in m.modes if mode.measured), default=0.0)
    rows = [_mode(mode, longest) for mode in m.modes]
    parts = [
        f"<div><b>{html_lines(m.task_spec.title)}</b> on {html_text(m.device_name)}</div>",
        table(("", "", "per run", "95 % interval", "taken from"), rows, words=2),
        f"<div>{html_text(m.bound)}</div>",
        *_kernels(m),
        *(warning(found.message, found.remedy) for found in m.warnings),
    ]
    return f'<div style="line-height:1.5;overflow-x:auto">{"".join(parts)}</div>'


def _mode(mode: DeviceMode, longest: float) -> str:
    name = html_text(mode.name.value)
    if not mode.measured:
        reason = html_text(mode.absent_because or "not measured")
        return row((name, ""), ("–", f'<span style="opacity:.75">{reason}</span>', ""), title=MODE_MEANS[mode.name])
    low, high = mode.interval
    interval = f"{format_seconds(low)} to {format_seconds(high)}" if math.isfinite(high) else "one block only"
    source = html_text(mode.source.value) if mode.source is not None else ""
    return row(
        (name, bar(mode.seconds, longest)),
        (f"<b>{format_seconds(mode.seconds)}</b>", interval, source),
        title=MODE_MEANS[mode.name],
    )


def _kernels(m: DeviceMeasurement) -> list[str]:
    if not m.kernels:
        return []
    lines = []
    for kernel in m.kernels[:MOST_KERNELS]:
        name = kernel.name if len(kernel.name) <= WIDEST_KERNEL_NAME else kernel.name[: WIDEST_KERNEL_NAME - 1] + "…"
        each = format_seconds(kernel.seconds_per_run / (kernel.calls_per_run or 1.0), 4)
        lines.append(
            f'<span title="{html_text(kernel.name)}">{kernel.calls_per_run:g} × {each} '
            f"<code>{html_text(name)}</code></span>"
        )
    more = len(m.kernels) - MOST_KERNELS
    lines += [f"{more} more"] if more > 0 else []
    return [f'<div style="{SOFT}">kernels per run:<br>{"<br>".join(lines)}</div>']
