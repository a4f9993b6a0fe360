"""The end of `photometer run overrides`: the ladder and what is expected of it; `--classic`, the lines of bench.py."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from photometer.analysis.ladder import Ladder
    from photometer.execution.ladder_run import Climbed
    from photometer.execution.run_settings import RunSettings
    from photometer.pipeline import RunReport


def add_ladder(report: RunReport, settings: RunSettings, quiet: bool) -> None:
    """Where a run's plan is a ladder: measure its steps, keep them in the results file, and print them."""
    if report.results is None or not settings.wall:
        return
    from photometer.dispatch_ladder import counted_instructions, is_ladder, measure_ladder
    from photometer.model.results_file import ResultsFile
    from photometer.model.results_reader import load_results

    if not is_ladder(report.plan):
        return
    if not quiet:
        typer.echo("\nEach rung beside the one it stands on:", err=True)
    ladder = measure_ladder(
        report.plan,
        settings.environment,
        instructions=counted_instructions(load_results(report.results)),
        on_rung=lambda title, outcome: None if quiet else _tell(title, outcome),
    )
    file = ResultsFile(report.results)
    for step in ladder:
        file.append(step)
    if not quiet:
        _print(ladder)


def print_classic(report: RunReport) -> None:
    """For each type the fastest block and the standard deviation of all blocks, per call."""
    from photometer.model.results_reader import load_results
    from photometer.stats.summary import standard_deviation

    if report.results is None:
        typer.echo("photometer: this suite has no cases with the tag `classic`", err=True)
        return
    names = {order.id: order.label[-1] for order in report.plan}
    loaded = load_results(report.results)
    records = [record for record in loaded.records if record["kind"] == "measurement"]
    for record, measurement in zip(records, loaded.measurements, strict=True):
        name = names.get(record["order"]["id"], measurement.task_spec.title)
        lowest, spread = 1e6 * min(measurement.times), 1e6 * standard_deviation(measurement.times)
        typer.echo(f"{name:22} minimum {lowest:8.3f} us, standard deviation {spread:8.3f} us")


def _tell(title: str, outcome: Climbed) -> None:
    from photometer.errors import PhotometerError

    if isinstance(outcome, PhotometerError):
        typer.echo(f"photometer: {title}: {outcome.message}", err=True)
    elif sys.stderr.isatty():
        typer.echo(f"  {title}", err=True)


def _print(ladder: Ladder) -> None:
    from photometer.analysis.ladder_expectations import check_expectations
    from photometer.report.escape import encodable
    from photometer.report.ladder_text import render_expectations, render_ladder

    text = render_ladder(ladder)
    if "torch.add" in ladder.by_call():
        text += "\n" + render_expectations(check_expectations(ladder))
    sys.stdout.write(encodable(text, sys.stdout.encoding))
