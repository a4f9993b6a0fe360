"""`--fail-on recompile,graph-break`: what of compiled statements makes a command fail."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

RECOMPILE = "recompile"
GRAPH_BREAK = "graph-break"
WORDS = (RECOMPILE, GRAPH_BREAK)

FailOnCompile = Annotated[
    str | None,
    typer.Option("--fail-on", metavar="WORDS", help="What makes the exit status other than 0: recompile, graph-break."),
]


def parse_fail_on(text: str | None) -> tuple[str, ...]:
    words = tuple(word.strip() for word in (text or "").split(",") if word.strip())
    for word in words:
        if word not in WORDS:
            raise typer.BadParameter(f"--fail-on: {word!r} is not one of {', '.join(WORDS)}")
    return words


def compile_complaints(files: Iterable[Path | None], fail_on: tuple[str, ...]) -> list[str]:
    """Return a line per compiled benchmark in the results files that has what was to make the command fail."""
    if not fail_on:
        return []
    from photometer.model.compile_report import CompileReport
    from photometer.model.results_reader import load_results

    complaints = []
    for path in files:
        reports = [] if path is None else load_results(path).of(CompileReport)
        for report in reports:
            found = report.complaints(fail_on)
            if found:
                complaints.append(f"{report.task_spec.title}: {', '.join(found)}")
    return complaints
