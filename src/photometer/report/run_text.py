"""The results of a suite as text: times and instructions side by side, what concerns the machine above, failures below.

In: a RunTable and a width. Out: one string, for a terminal or in Markdown. `run` and `show` print the same.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable

from photometer.analysis.failing_line import with_failing_line
from photometer.analysis.run_table import RunCell, RunFailure, RunRow, RunTable
from photometer.model.memory_measurement import format_bytes
from photometer.model.units import format_seconds
from photometer.model.visible_text import visible_line
from photometer.report.escape import markdown_text
from photometer.report.text_width import pad, width_of

HEADS = {"python": "Python", "cpp": "C++"}
# Wide enough for "123.4 us" with its mark, and for a count of tens of millions.
TIME_WIDTH = 10
DEVICE_WIDTH = 18
COUNT_WIDTH = 15
MEMORY_WIDTH = 23
# Names are cut and figures are not; a shorter name would say nothing.
NARROWEST_NAME = 16
# Before a time that is to be doubted, and after a count whose repeats differ.
MARK = "?"
DIFFERS = "*"
# More of them are read on the page, where they can be sorted.
MOST_DOUBTS = 10
STEP_WORDS = {
    "time": "timing",
    "count": "counting",
    "device": "timing on the device",
    "build": "compiling",
    "script": "scripting",
    "compile": "torch.compile",
    "memory": "measuring memory",
}


@dataclasses.dataclass(frozen=True)
class _Column:
    """A figure of every row: its head, its width, and how a row's cell is written."""

    head: str
    width: int
    text: Callable[[RunRow], str]


def render_run(table: RunTable, width: int) -> str:
    """Return what is to be known first, one block of rows per section, and the failures."""
    columns = _columns(table)
    longest = max((width_of(visible_line(row.name)) for section in table.sections for row in section.rows), default=0)
    name_width = max(min(longest + 2, width - sum(column.width for column in columns)), NARROWEST_NAME)
    lines = textwrap.wrap(visible_line(f"{MARK} {table.machine}"), max(width, 40)) if table.machine else []
    for section in table.sections:
        heads = "".join(column.head.rjust(column.width) for column in columns)
        lines += ["", pad(_cut(visible_line(section.name), name_width), name_width) + heads]
        for row in section.rows:
            cells = "".join(column.text(row).rjust(column.width) for column in columns)
            lines.append(pad("  " + _cut(visible_line(row.name), name_width - 2), name_width) + cells)
    return "\n".join([*lines, *_below(table)]) + "\n"


def render_run_markdown(table: RunTable) -> str:
    """Return the same as a table in Markdown; sections are rows in bold."""
    columns = _columns(table)
    lines = [f"{MARK} {markdown_text(table.machine)}", ""] if table.machine else []
    lines += ["| | " + " | ".join(column.head for column in columns) + " |"]
    lines += ["| :--- |" + " ---: |" * len(columns)]
    for section in table.sections:
        lines.append(f"| **{markdown_text(section.name)}** |" + " |" * len(columns))
        for row in section.rows:
            cells = " | ".join(column.text(row) for column in columns)
            lines.append(f"| {markdown_text(row.name)} | {cells} |")
    return "\n".join([*lines, *(markdown_text(line) if line else "" for line in _below(table))]) + "\n"


def _columns(table: RunTable) -> list[_Column]:
    """Return the columns; only what was measured has one."""
    cells = table.cells()

    def each(title: str, width: int, text: Callable[[RunCell | None], str]) -> list[_Column]:
        return [
            _Column(title.format(HEADS[language]), width, _of_language(language, text)) for language in table.languages
        ]

    columns = []
    if any(cell.seconds is not None for cell in cells):
        columns += each("{}", TIME_WIDTH, _time)
    if any(cell.instructions is not None for cell in cells):
        columns += each("{} instr.", COUNT_WIDTH, _count)
    if any(cell.device_seconds is not None for cell in cells):
        alone = len(table.languages) == 1
        columns += each("on device" if alone else "{} on device", TIME_WIDTH if alone else DEVICE_WIDTH, _device_time)
    if any(cell.memory is not None for cell in cells):
        columns += each("{} peak (blocks)", MEMORY_WIDTH, _memory)
    return columns


def _of_language(language: str, text: Callable[[RunCell | None], str]) -> Callable[[RunRow], str]:
    return lambda row: text(row.cells.get(language))


def summary_line(table: RunTable) -> str:
    """Return how many variants have results: `167 of 168 variants measured, 1 only in part`."""
    partial = f", {table.partial} only in part" if table.partial else ""
    return f"{table.measured} of {table.orders} variants measured{partial}"


def render_failure(failure: RunFailure) -> str:
    """Return one line: what failed, at which step, the cause, and the line of the user that raised."""
    step = STEP_WORDS.get(failure.step, failure.step)
    first = with_failing_line(failure.message.split("\n", 1)[0], failure.log)
    # A compiler's log has the cause somewhere in it; the first line of an exception's message is the cause.
    causes = [line.strip() for line in failure.log.splitlines() if "error: " in line]
    cause = f": {causes[0]}" if failure.step == "build" and causes else ""
    partial = " (it was timed)" if failure.is_partial and failure.step == "count" else ""
    return visible_line(f"{failure.title}: {step} failed{partial}: {first}{cause}")


def _below(table: RunTable) -> list[str]:
    lines = []
    if table.typical_excess is not None:
        longer = f"{max(table.typical_excess, 0.0) * 100:.0f} % longer"
        lines += ["", f"Times are without disturbances. Typical times (medians, on the page) are {longer} here."]
    if table.doubtful:
        rest = " than the rest" if table.machine else ""
        words = "1 time is" if table.doubtful == 1 else f"{table.doubtful} times are"
        lines += ["", f"{MARK} {words} more doubtful{rest}:" if rest else f"{MARK} {words} doubtful:"]
        lines += [f"  {line}" for line in doubt_lines(table)]
    if any(cell.repeats_differ for cell in table.cells()):
        lines += ["", f"{DIFFERS} The repeats of this count differ: the value that most have is shown."]
    if table.failures:
        lines += ["", f"{len(table.failures)} failed:"]
        lines += [f"  {render_failure(failure)}" for failure in table.failures]
    return lines


def doubt_lines(table: RunTable) -> list[str]:
    """Return each marked row with its reasons, and what to do about each kind of reason, once."""
    lines: list[str] = []
    remedies: dict[str, str] = {}
    for section in table.sections:
        for row in section.rows:
            for language, cell in row.cells.items():
                if cell.doubts:
                    remedies.update((doubt.kind, doubt.remedy) for doubt in cell.doubts)
                    name = f"{section.name} › {row.name} ({HEADS.get(language, language)})"
                    lines.append(visible_line(f"{name}: {' '.join(doubt.message for doubt in cell.doubts)}"))
    shown = lines[:MOST_DOUBTS] + ([f"and {len(lines) - MOST_DOUBTS} more"] if len(lines) > MOST_DOUBTS else [])
    return shown + [visible_line(f"{kind}: {remedy}") for kind, remedy in remedies.items()]


def _time(cell: RunCell | None) -> str:
    if cell is None:
        return ""
    if cell.seconds is None:
        return "failed" if cell.failed_step else "-"
    # At least two digits: "9 us" beside "9.2 us" looks like another kind of number.
    return (f"{MARK} " if cell.is_doubtful else "") + format_seconds(cell.seconds, max(cell.significant_figures, 2))


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
        return "failed" if cell.failed_step else "-"
    return f"{cell.instructions:,.0f}" + (f" {DIFFERS}" if cell.repeats_differ else "")


def _cut(text: str, width: int) -> str:
    """Cut the name, but keep the brackets at its end if possible: they say which variant it is."""
    start, bracket, end = text.rpartition(" [")
    if not bracket or width_of(end) > width // 2:
        start, bracket, end = text, "", ""
    while start and width_of(start + bracket + end) > width:
        start = start[:-2] + "…" if len(start) > 1 else ""
    return start + bracket + end
