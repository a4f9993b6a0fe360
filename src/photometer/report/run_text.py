"""The results of a suite as text: times and instructions side by side, cautions above, failures below.

In: a RunTable and a width. Out: one string, for a terminal or in Markdown. `run` and `show` print the same. A Ladder is
printed with one block per call and one line per rung, and one sentence for each expectation. Of single measurements
there is a table of the slow runs, which says whether their samples are single runs or blocks of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from photometer.analysis.failing_line import with_failing_line
from photometer.analysis.ladder import Expectation, Ladder
from photometer.analysis.run_table import RunCell, RunFailure, RunRow, RunTable
from photometer.instruments.ladder import LadderStep
from photometer.instruments.registry import INSTRUMENTS
from photometer.model.measurement import PERCENTILES, Measurement
from photometer.model.order_name import label_text
from photometer.model.units import format_seconds
from photometer.model.visible_text import visible_line
from photometer.report.skipped_text import SKIPPED, skipped_lines
from photometer.report.tables.as_markdown import inline, render_markdown
from photometer.report.tables.as_text import note_lines, render_text
from photometer.report.tables.table import STAYS, Cell, Column, Kind, Mark, Row, Section, Table, row_of, table_of

COLUMNS = (
    Column("rung", "rung", Kind.NAME),
    Column("seconds", "time", Kind.TIME, priority=STAYS, digits=4),
    Column("added_seconds", "added", Kind.DIFFERENCE, priority=STAYS),
    Column("added_interval", "95 % interval", Kind.DIFFERENCE, priority=2),
    Column("instructions", "instructions", Kind.COUNT, priority=1),
    Column("added_instructions", "added instr.", Kind.ADDED, priority=1),
    Column("below", "over", Kind.WORDS, priority=3),
)


def table_of_ladder(ladder: Ladder) -> Table:
    """Return a section per call, a row per rung."""
    return Table(
        COLUMNS, tuple(Section(call, tuple(_rung(step) for step in steps)) for call, steps in ladder.by_call().items())
    )


def render_ladder(ladder: Ladder, width: int = 100) -> str:
    """Return the ladder for a terminal."""
    return f"\n{render_text(table_of_ladder(ladder), width)}"


def render_expectations(expectations: Sequence[Expectation]) -> str:
    return "".join(f"{visible_line(expectation.sentence)}\n" for expectation in expectations)


def _rung(step: LadderStep) -> Row:
    unknown = Cell(text="-")
    added = None if step.below is None else unknown if step.added_seconds is None else step.added_seconds
    return row_of(
        {
            "rung": step.rung,
            "seconds": unknown if step.seconds is None else step.seconds,
            "added_seconds": added,
            "added_interval": step.added_interval_seconds,
            "instructions": step.instructions,
            "added_instructions": None if step.added_instructions is None else round(step.added_instructions),
            "below": step.below,
        }
    )


HEADS = {"python": "Python", "cpp": "C++"}
# Before a time that is to be doubted, and after a count whose repeats differ.
MARK = "?"
DIFFERS = "*"
# Before a time that is not final: its order lacks some of its visits.
UNFINISHED_MARK = "~"
# More of them are read on the page, where they can be sorted.
MOST_DOUBTS = 10
_Figure = tuple[Column, Callable[[RunRow], Cell | None]]
STEP_WORDS = {"build": "compiling", "script": "scripting", **{each.name: each.doing for each in INSTRUMENTS}}


def table_of_run(run: RunTable) -> Table:
    """Return the run as a table: a section per group of benchmarks, a column per measured figure."""
    figures = _figures(run)
    columns = [Column("name", "", Kind.NAME), *(column for column, _ in figures)]
    sections = tuple(Section(each.name, tuple(_row(row, figures) for row in each.rows)) for each in run.sections)
    return Table(tuple(columns), sections, notes=tuple(_notes(run)))


def render_run(run: RunTable, width: int) -> str:
    """Return the cautions, one block of rows per section, and the failures."""
    above = note_lines(f"{MARK} {run.machine}", max(width, 40)) if run.machine else []
    return "\n".join([*above, "", render_text(table_of_run(run), width)])


def render_run_markdown(run: RunTable) -> str:
    """Return the same in Markdown."""
    above = f"{MARK} {inline(run.machine)}\n\n" if run.machine else ""
    return above + render_markdown(table_of_run(run))


def _row(row: RunRow, figures: list[_Figure]) -> Row:
    cells = {"name": Cell(row.name), **{column.key: figure(row) for column, figure in figures}}
    return Row({key: cell for key, cell in cells.items() if cell is not None})


def _figures(run: RunTable) -> list[_Figure]:
    """Return the columns of figures, each with a function for a row's cell; only measured figures have one."""
    cells = run.cells()
    found: list[_Figure] = []

    def each(key: str, head: str, kind: Kind, priority: int, cell: Callable[[RunCell], Cell | None]) -> None:
        for language in run.languages:
            column = Column(f"{language}_{key}", head.format(HEADS[language]), kind, priority=priority)
            found.append((column, _of_language(language, cell)))

    if any(cell.seconds is not None for cell in cells):
        each("seconds", "{}", Kind.TIME, STAYS, _time)
    if any(cell.instructions is not None for cell in cells):
        each("instructions", "{} instr.", Kind.COUNT, 1, _count)
    if any(cell.device_seconds is not None for cell in cells):
        each("device_seconds", "on device" if len(run.languages) == 1 else "{} on device", Kind.TIME, 1, _device_time)
    if any(cell.memory is not None for cell in cells):
        each("peak_bytes", "{} peak", Kind.BYTES, 2, _peak)
        each("blocks", "{} blocks", Kind.COUNT, 3, _blocks)
    return found


def _of_language(language: str, cell: Callable[[RunCell], Cell | None]) -> Callable[[RunRow], Cell | None]:
    return lambda row: cell(row.cells[language]) if language in row.cells else None


def summary_line(table: RunTable) -> str:
    """Return how many variants have results: `167 of 168 variants measured, 1 only in part`."""
    partial = f", {table.partial} only in part" if table.partial else ""
    unfinished = f", {table.unfinished} not to the end" if table.unfinished else ""
    skipped = f", {len(table.skips):,} skipped" if table.skips else ""
    return f"{table.measured:,} of {table.orders:,} variants measured{partial}{unfinished}{skipped}"


def render_failure(failure: RunFailure) -> str:
    """Return one line: the benchmark, the step that failed, the cause, and the line of the user that raised."""
    step = STEP_WORDS.get(failure.step, failure.step)
    first = with_failing_line(failure.message.split("\n", 1)[0], failure.log)
    # A compiler's log has the cause somewhere in it; the first line of an exception's message is the cause.
    causes = [line.strip() for line in failure.log.splitlines() if "error: " in line]
    cause = f": {causes[0]}" if failure.step == "build" and causes else ""
    partial = " (it was timed)" if failure.is_partial and failure.step == "count" else ""
    return visible_line(f"{failure.title}: {step} failed{partial}: {first}{cause}")


def _notes(table: RunTable) -> list[str]:
    notes = []
    if table.typical_excess is not None:
        longer = f"{max(table.typical_excess, 0.0) * 100:.0f} % longer"
        notes.append(f"Times are without disturbances. Typical times (medians, on the page) are {longer} here.")
    if table.doubtful:
        rest = " than the rest" if table.machine else ""
        words = "1 time is" if table.doubtful == 1 else f"{table.doubtful} times are"
        head = f"{MARK} {words} more doubtful{rest}:" if rest else f"{MARK} {words} doubtful:"
        notes.append("\n".join([head, *(f"  {line}" for line in doubt_lines(table))]))
    if table.unfinished:
        words = "1 time is" if table.unfinished == 1 else f"{table.unfinished:,} times are"
        notes.append(
            f"{UNFINISHED_MARK} {words} not final: visits are missing. `photometer run --resume` measures them."
        )
    if any(cell.repeats_differ for cell in table.cells()):
        notes.append(f"{DIFFERS} The repeats of this count differ: the most frequent value is shown.")
    if table.failures:
        failures = [f"  {render_failure(failure)}" for failure in table.failures]
        notes.append("\n".join([f"{len(table.failures)} failed:", *failures]))
    notes += [visible_line(line) for line in skipped_lines((each.title, "", each.reason) for each in table.skips)]
    return notes


def doubt_lines(table: RunTable) -> list[str]:
    """Return each marked row with its reasons, and a remedy for each kind of reason, once."""
    lines: list[str] = []
    remedies: dict[str, str] = {}
    for section in table.sections:
        for row in section.rows:
            for language, cell in row.cells.items():
                if cell.doubts:
                    remedies.update((doubt.kind, doubt.remedy) for doubt in cell.doubts)
                    name = f"{label_text((section.name, row.name))} ({HEADS.get(language, language)})"
                    lines.append(visible_line(f"{name}: {' '.join(doubt.message for doubt in cell.doubts)}"))
    shown = lines[:MOST_DOUBTS] + ([f"and {len(lines) - MOST_DOUBTS} more"] if len(lines) > MOST_DOUBTS else [])
    return shown + [visible_line(f"{kind}: {remedy}") for kind, remedy in remedies.items()]


def _time(cell: RunCell) -> Cell:
    if cell.seconds is None:
        return _missing(cell)
    # At least two digits: "9 µs" beside "9.2 µs" looks like another kind of number.
    text = format_seconds(cell.seconds, max(cell.significant_figures, 2))
    mark = UNFINISHED_MARK if cell.is_unfinished else MARK if cell.is_doubtful else ""
    return Cell(cell.seconds, text, before=mark and f"{mark} ")


def _device_time(cell: RunCell) -> Cell | None:
    return None if cell.device_seconds is None else Cell(cell.device_seconds)


def _count(cell: RunCell) -> Cell:
    if cell.instructions is None:
        return _missing(cell)
    return Cell(cell.instructions, after=f" {DIFFERS}" if cell.repeats_differ else "")


def _peak(cell: RunCell) -> Cell | None:
    return None if cell.memory is None else Cell(cell.memory.peak_bytes)


def _blocks(cell: RunCell) -> Cell | None:
    return None if cell.memory is None else Cell(cell.memory.allocations)


def _missing(cell: RunCell) -> Cell:
    if cell.failed_step:
        return Cell(text="failed", mark=Mark.BAD)
    return Cell(text=SKIPPED, mark=Mark.FAINT) if cell.is_skipped else Cell(text="-")


PERCENTILE_COLUMNS = (
    Column("benchmark", "benchmark", Kind.NAME),
    *(Column(f"p{percent}_seconds", f"{percent} %", Kind.TIME, priority=STAYS) for percent in PERCENTILES),
    Column("samples", "samples", Kind.COUNT),
    Column("percentiles_of", "of", Kind.WORDS),
)
BLOCKS_NOTE = (
    "Blocks of several runs scatter less than single runs: a slow one is averaged with the others of its block."
)


def table_of_percentiles(measurements: Sequence[Measurement]) -> Table:
    """Return a row per measurement."""
    rows = [
        row_of(
            {
                "benchmark": each.title,
                **{f"p{percent}_seconds": each.percentile(percent) for percent in PERCENTILES},
                "samples": len(each.raw_times),
                "percentiles_of": each.percentiles_are_of,
            }
        )
        for each in measurements
    ]
    notes = [BLOCKS_NOTE] if any(each.number_per_run > 1 for each in measurements) else []
    return table_of(PERCENTILE_COLUMNS, rows, title="Percentiles", notes=notes)
