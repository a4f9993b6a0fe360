"""A DeviceMeasurement in a notebook: the table of modes, what bounds it, the kernels and the warnings."""

from __future__ import annotations

from photometer.model.device_measurement import DeviceMeasurement
from photometer.model.units import format_count, format_seconds
from photometer.report.device_text import table_of_modes
from photometer.report.escape import html_lines, html_text
from photometer.report.notebook.look import warning
from photometer.report.tables.as_html import SOFT, html_table
from photometer.report.tables.names import shorten_apart

# Names of template kernels have hundreds of characters; the whole is shown when the mouse rests on it.
WIDEST_KERNEL_NAME = 90
MOST_KERNELS = 8


def device_html(m: DeviceMeasurement) -> str:
    """Return the modes with bars, and below them what else is known."""
    parts = [
        f"<div><b>{html_lines(m.task_spec.title)}</b> on {html_text(m.device_name)}</div>",
        html_table(table_of_modes(m.modes)),
        f"<div>{html_text(m.bound)}</div>",
        *_kernels(m),
        *(warning(found.message, found.remedy) for found in m.warnings),
    ]
    return f'<div style="line-height:1.5;overflow-x:auto">{"".join(parts)}</div>'


def _kernels(m: DeviceMeasurement) -> list[str]:
    if not m.kernels:
        return []
    lines = []
    shown = m.kernels[:MOST_KERNELS]
    names = shorten_apart([kernel.name for kernel in shown], WIDEST_KERNEL_NAME)
    for kernel, name in zip(shown, names, strict=True):
        each = format_seconds(kernel.seconds_per_run / (kernel.calls_per_run or 1.0), 4)
        lines.append(
            f'<span title="{html_text(kernel.name)}">{format_count(kernel.calls_per_run)} × {each} '
            f"<code>{html_text(name)}</code></span>"
        )
    more = len(m.kernels) - MOST_KERNELS
    lines += [f"{more} more"] if more > 0 else []
    return [f'<div style="{SOFT}">kernels per run:<br>{"<br>".join(lines)}</div>']
