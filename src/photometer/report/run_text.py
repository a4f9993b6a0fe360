"""The results of a suite as text for a terminal: times and instructions side by side, failures below.

In: a RunTable and a width. Out: one string.
"""

from __future__ import annotations

from photometer.analysis.failing_line import with_failing_line
from photometer.analysis.run_table import RunCell, RunFailure, RunTable
from photometer.model.memory_measurement import format_bytes
from photometer.model.units import format_seconds
from photometer.model.visible_text import visible_line
from photometer.report.text_width import pad, width_of

HEADS = {"python": "Python", "cpp": "C++"}
# Wide enough for "123.4 us" with its mark, and for a count of tens of millions.
TIME_WIDTH = 10
COUNT_WIDTH = 15
MEMORY_WIDTH = 23
# Names are cut and figures are not; a shorter name would say nothing.
NARROWEST_NAME = 16
STEP_WORDS = {
    "time": "timing",
    "count": "counting",
    "device": "timing on the device",
    "build": "compiling",
    "script": "scripting",
    "compile": "torch.compile",
    "memory": "measuring memory",
}


def render_run(table: RunTable, width: int) -> str:
    """Return one block of rows per section; only what was measured has a column."""
    languages = table.languages
    cells = table.cells()
    times = any(cell.seconds is not None for cell in cells)
    counts = any(cell.instructions is not None for cell in cells)
    # Only Python statements are timed on the device.
    devices = any(cell.device_seconds is not None for cell in cells)
    memory = any(cell.memory is not None for cell in cells)
    figures = len(languages) * (TIME_WIDTH * times + COUNT_WIDTH * counts + MEMORY_WIDTH * memory)
    figures += TIME_WIDTH * devices
    longest = max((width_of(visible_line(row.name)) for section in table.sections for row in section.rows), default=0)
    name_width = max(min(longest + 2, width - figures), NARROWEST_NAME)
    lines = []
    for section in table.sections:
        heads = [HEADS[language].rjust(TIME_WIDTH) for language in languages] if times else []
        heads += [f"{HEADS[language]} instr.".rjust(COUNT_WIDTH) for language in languages] if counts else []
        heads += ["on device".rjust(TIME_WIDTH)] if devices else []
        heads += [f"{HEADS[language]} peak (blocks)".rjust(MEMORY_WIDTH) for language in languages] if memory else []
        lines += ["", pad(_cut(visible_line(section.name), name_width), name_width) + "".join(heads)]
        for row in section.rows:
            known = [row.cells.get(language) for language in languages]
            shown = [_time(cell).rjust(TIME_WIDTH) for cell in known] if times else []
            shown += [_count(cell).rjust(COUNT_WIDTH) for cell in known] if counts else []
            shown += [_device_time(row.cells.get("python")).rjust(TIME_WIDTH)] if devices else []
            shown += [_memory(cell).rjust(MEMORY_WIDTH) for cell in known] if memory else []
            lines.append(pad("  " + _cut(visible_line(row.name), name_width - 2), name_width) + "".join(shown))
    return "\n".join([*lines, *_below(table)]) + "\n"


def render_failure(failure: RunFailure) -> str:
    """Return one line: what failed, at which step, the cause, and the line of the user that raised."""
    step = STEP_WORDS.get(failure.step, failure.step)
    first = with_failing_line(failure.message.split("\n", 1)[0], failure.log)
    # A compiler's log has the cause somewhere in it; the first line of an exception's message is the cause.
    causes = [line.strip() for line in failure.log.splitlines() if "error: " in line]
    cause = f": {causes[0]}" if failure.step == "build" and causes else ""
    return visible_line(f"{failure.title}: {step} failed: {first}{cause}")


def _below(table: RunTable) -> list[str]:
    lines = []
    doubtful = sum(cell.is_doubtful for cell in table.cells())
    if doubtful:
        lines += ["", f"? {doubtful} times are doubtful; `photometer show` says why."]
    if table.failures:
        lines += ["", f"{len(table.failures)} failed:"]
        lines += [f"  {render_failure(failure)}" for failure in table.failures]
    return lines


def _time(cell: RunCell | None) -> str:
    if cell is None:
        return ""
    if cell.seconds is None:
        return "failed" if cell.has_failed else "-"
    # At least two digits: "9 us" beside "9.2 us" looks like another kind of number.
    return ("? " if cell.is_doubtful else "") + format_seconds(cell.seconds, max(cell.significant_figures, 2))


def _device_time(cell: RunCell | None) -> str:
    return "" if cell is None or cell.device_seconds is None else format_seconds(cell.device_seconds, 3)


def _memory(cell: RunCell | None) -> str:
    """Return the peak of one run, and in how many blocks it allocated."""
    if cell is None or cell.memory is None:
        return ""
    return f"{format_bytes(cell.memory.peak_bytes)} ({cell.memory.allocations:,})"


def _count(cell: RunCell | None) -> str:
    if cell is None:
        return ""
    if cell.instructions is None:
        return "failed" if cell.has_failed else "-"
    return f"{cell.instructions:,.0f}"


def _cut(text: str, width: int) -> str:
    """Cut the name, but keep the brackets at its end if possible: they say which variant it is."""
    start, bracket, end = text.rpartition(" [")
    if not bracket or width_of(end) > width // 2:
        start, bracket, end = text, "", ""
    while start and width_of(start + bracket + end) > width:
        start = start[:-2] + "…" if len(start) > 1 else ""
    return start + bracket + end
