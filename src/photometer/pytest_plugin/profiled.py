"""cProfile of what a test measures, as in pytest-benchmark: `--benchmark-cprofile COLUMN`, or `cprofile=True`.

In: a Call. Out: its functions as plain rows, kept with the measurement and shown under the tables. These figures
include the profiler's own work: they show which functions matter, not how long a run takes.
"""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from photometer.pytest_plugin.fixtures import Call

PROFILE = "cprofile"
DEFAULT_COLUMN = "cumtime"
DEFAULT_TOP = 25


def profile_call(call: Call) -> list[dict[str, Any]]:
    """Run the call once more under cProfile, and return one row of CPROFILE_COLUMNS per function."""
    profile = cProfile.Profile()
    arguments = call.new_arguments()
    profile.runcall(call.function, *arguments.args, **arguments.kwargs)
    call.tear_down(arguments)
    found: Mapping[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return [_row(place, figures) for place, figures in found.items()]


def _row(place: tuple[str, int, str], figures: Sequence[Any]) -> dict[str, Any]:
    file, line, name = place
    primitive, calls, own, whole = figures[:4]
    return {
        "ncalls": calls,
        "ncalls_recursion": f"{calls}/{primitive}" if calls != primitive else str(calls),
        "tottime": own,
        "tottime_per": own / calls,
        "cumtime": whole,
        "cumtime_per": whole / primitive,
        "function_name": name if file == "~" else f"{Path(file).name}:{line}({name})",
    }


def top_rows(rows: Sequence[dict[str, Any]], column: str, most: int) -> list[dict[str, Any]]:
    """Return the top rows by a column: the largest figures, or the first names."""
    key = "ncalls" if column == "ncalls_recursion" else column
    return sorted(rows, key=lambda row: row[key], reverse=key != "function_name")[:most]
