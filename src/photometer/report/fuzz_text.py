"""The map of a fuzz run as text for terminals and logs: findings, both ends of the list of inputs, and failures.

In: a FuzzMap. Out: one string. The cells of an input are also what the page shows (`page/view_fuzz.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from photometer.analysis.fuzz_map import FuzzMap, figure_of
from photometer.model.fuzz_trial import FuzzTrial
from photometer.model.units import format_seconds
from photometer.model.visible_text import visible
from photometer.report.text_width import pad, width_of, wrap

# Rows shown from each end of the list; the page and the file have all of them.
ROWS_AT_EACH_END = 8
# Failures shown in full; further ones usually have the same cause.
FAILURES_SHOWN = 5
NARROWEST = 40


def render_fuzz_text(found: FuzzMap, width: int | None = None, rows_at_each_end: int = ROWS_AT_EACH_END) -> str:
    """Return the whole text. `width` is that of the terminal; None means 100."""
    limit = max(width or 100, NARROWEST)
    lines = [*_head(found, limit), ""]
    if found.trials:
        lines += [*_rows(found, rows_at_each_end), ""]
    lines += _failures(found, limit)
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def trial_heads(found: FuzzMap) -> list[str]:
    """Return the heads of the table of inputs, in the terminal and on the page."""
    if found.is_comparison:
        return ["input", "ratio", "±", "time", "against", "what it is"]
    return ["input", "per element", "time", "what it is"]


def trial_cells(found: FuzzMap, trial: FuzzTrial) -> list[str]:
    """Return plain text, one cell per head, for each renderer to lay out and escape."""
    times = [format_seconds(seconds, 3) for seconds in trial.seconds_per_run]
    if trial.log_ratio is None:
        figures = [format_seconds(math.exp(figure_of(trial)), 3)]
    else:
        figures = [f"{math.exp(trial.log_ratio):.2f}", f"{(trial.standard_error or 0.0) * 100:.1f}%"]
    return [f"#{trial.index}", *figures, *times, visible(found.describe(trial))]


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
        # Numbers are aligned to the right, the input's description to the left.
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
        # Not wrapped: it is for copying.
        yield f"    {_one_line(trial.rebuild_line)}"
    if count > FAILURES_SHOWN:
        yield f"  … and {count - FAILURES_SHOWN} more"


def _one_line(text: str) -> str:
    return " ".join(visible(text).split("\n"))
