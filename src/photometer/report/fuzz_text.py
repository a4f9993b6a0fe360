"""The map of a fuzz run as text for terminals and logs: what was found, the ends of the list, and what failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from photometer.analysis.fuzz_map import FuzzMap
from photometer.model.visible_text import visible
from photometer.report.fuzz_cells import trial_cells, trial_heads
from photometer.report.text_width import pad, width_of, wrap

# Rows shown from each end of the list; the page and the file have all of them.
ROWS_AT_EACH_END = 8
# Failures shown in full; more of them usually fail alike.
FAILURES_SHOWN = 5
NARROWEST = 40


def render_fuzz_text(found: FuzzMap, width: int | None = None, rows_at_each_end: int = ROWS_AT_EACH_END) -> str:
    """The whole text, ending in a line break. `width` is the terminal's; None is no limit."""
    limit = max(width or 100, NARROWEST)
    lines = [*_head(found, limit), ""]
    if found.trials:
        lines += [*_rows(found, rows_at_each_end), ""]
    lines += _failures(found, limit)
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def _head(found: FuzzMap, limit: int) -> Iterator[str]:
    yield from wrap(_one_line(found.statements[0]), limit)
    for other in found.statements[1:]:
        yield from wrap(f"  against {_one_line(other)}", limit)
    yield ""
    yield from wrap(found.headline, limit)
    for finding in found.findings:
        first, *more = wrap(visible(finding), limit - 2)
        yield f"- {first}"
        yield from (f"  {line}" for line in more)


def _rows(found: FuzzMap, at_each_end: int) -> Iterator[str]:
    trials = found.trials
    skipped = len(trials) - 2 * at_each_end
    shown: list[Sequence[str]] = [trial_heads(found)]
    shown += [trial_cells(found, trial) for trial in (trials if skipped <= 0 else trials[:at_each_end])]
    gap = len(shown)
    if skipped > 0:
        shown += [trial_cells(found, trial) for trial in trials[-at_each_end:]]
    widths = [max(width_of(cells[column]) for cells in shown) for column in range(len(shown[0]))]
    for place, cells in enumerate(shown):
        if skipped > 0 and place == gap:
            yield f"  … {skipped} more …"
        # Numbers stand to the right of their column, the input's description to the left.
        numbers = [" " * (room - width_of(cell)) + cell for cell, room in zip(cells[:-1], widths, strict=False)]
        yield "  ".join(["", *numbers, pad(cells[-1], widths[-1])])


def _failures(found: FuzzMap, limit: int) -> Iterator[str]:
    if not found.failed:
        return
    count = len(found.failed)
    yield f"{count} input{'s' if count > 1 else ''} failed:"
    for trial in found.failed[:FAILURES_SHOWN]:
        assert trial.failure is not None
        failure = trial.failure
        yield from wrap(f"  #{trial.index} {visible(found.describe(trial))}", limit)
        yield f"    in {_one_line(failure.where)}: {failure.exception_type}: {_one_line(failure.message)}"
        params = ", ".join(f"{name}={value}" for name, value in trial.params.items())
        yield from (f"    {line}" for line in wrap(f"parameters: {visible(params)}", limit - 4))
        # Not wrapped: it is for pasting.
        yield f"    {_one_line(trial.rebuild_line)}"
    if count > FAILURES_SHOWN:
        yield f"  … and {count - FAILURES_SHOWN} more"


def _one_line(text: str) -> str:
    return " ".join(visible(text).split("\n"))
