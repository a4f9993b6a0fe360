"""What `fuzz` prints, and `show` for a folder that it wrote: the map of inputs on which statements are slow."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from photometer.cli.output_options import Shape, in_shape
from photometer.cli.printing import terminal_width

if TYPE_CHECKING:
    from photometer.analysis.fuzz_map import FuzzMap
    from photometer.execution.fuzz_run import FuzzRequest
    from photometer.model.results_reader import Results

# Of each end of the list.
ROWS = 8


def fuzz_header(request: FuzzRequest) -> dict[str, Any]:
    """Return the header that a results file needs besides the trials, to make the map again."""
    from photometer.fuzzing.fuzzer import explaining_parameters, shown_parameters

    return {
        "statements": list(request.statements),
        "seed": request.fuzzer.seed,
        "count": request.count,
        "explaining": sorted(explaining_parameters(request.fuzzer)),
        "shown": list(shown_parameters(request.fuzzer)),
    }


def is_fuzz(results: Results) -> bool:
    """Return whether `fuzz` wrote this file."""
    return isinstance(results.header.get("fuzz"), Mapping) and "fuzz_trial" in results.kinds


def fuzz_in_shape(found: FuzzMap, shape: Shape, rows: int = ROWS) -> str:
    """Return a map for people, or all its inputs as a table whose notes are the findings and failures."""
    from photometer.report.fuzz_text import render_fuzz_text, table_of_trials

    if shape is Shape.TERMINAL:
        return render_fuzz_text(found, terminal_width(), rows)
    failures = [
        f"#{trial.index} failed: {trial.failure.exception_type}: {trial.failure.message}"
        for trial in found.failed
        if trial.failure is not None
    ]
    notes = (found.headline, *found.findings, *failures)
    return in_shape(dataclasses.replace(table_of_trials(found), notes=notes), shape)


def show_fuzz(results: Results, shape: Shape) -> str:
    """Return a file of `fuzz` as `fuzz` printed it; for a run that was stopped, with its progress."""
    about = results.header["fuzz"]
    found = _map_of(results)
    asked, done = about.get("count"), len(found.trials) + len(found.failed)
    text = fuzz_in_shape(found, shape)
    return (
        text
        if asked in (None, done) or shape is not Shape.TERMINAL
        else f"{text}\n{done} of {asked} inputs were measured.\n"
    )


def _map_of(results: Results) -> FuzzMap:
    from photometer.analysis.fuzz_map import make_map
    from photometer.model.fuzz_trial import FuzzTrial
    from photometer.report.page.view_fuzz import listed_texts, statements_of

    about, trials = results.header["fuzz"], results.of(FuzzTrial)
    explaining = listed_texts(about, "explaining")
    return make_map(
        statements_of(about, trials),
        trials,
        None if explaining is None else frozenset(explaining),
        tuple(listed_texts(about, "shown") or ()),
    )
